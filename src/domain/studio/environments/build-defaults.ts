import type { ProjectContext } from '../../operation.ts';
import type { Oid } from '../../ports/git-records.ts';
import { siteFilesOf } from '../content/site-files.ts';
import { detectFramework } from '../routes/framework/detect-framework.ts';
import { environmentDefaults } from '../routes/framework/environment-defaults.ts';
import type { Environment } from './environment.entity.ts';

type BuildSettings = Pick<
  Environment,
  'provider' | 'root_directory' | 'install_command' | 'build_command' | 'output_directory'
>;

/** How a commit's site is built, found out from its files; what a caller has said counts, and the rest follows from it. */
export async function buildDefaults(
  { git, project }: Pick<ProjectContext, 'git' | 'project'>,
  commit: Oid,
  said: Partial<BuildSettings>,
): Promise<BuildSettings> {
  const site = await siteFilesOf(git, await git.snapshot(commit));
  const root = said.root_directory ?? project.settings.content_root ?? undefined;
  const detected = await detectFramework(site, root === undefined ? {} : { root });
  const found = await environmentDefaults(site, detected);
  const command = said.build_command === undefined ? found.build_command : said.build_command;
  const provider = said.provider ?? (command ? 'build' : 'static');
  const builds = provider === 'build';
  return {
    provider,
    root_directory: said.root_directory ?? found.root_directory,
    install_command: (said.install_command === undefined ? found.install_command : said.install_command) ?? null,
    build_command: command ?? null,
    // The output of a build is nothing that the branch itself holds.
    output_directory: said.output_directory ?? (builds || found.build_command === null ? found.output_directory : ''),
  };
}
