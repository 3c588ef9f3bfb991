import { forEachYielding, setYielding } from '../../../lib/concurrency.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';
import { readCodeConfig, readDataConfig } from '../schema/config/config-file.ts';
import { below, joinPath } from '../schema/site-layout.ts';
import { at, entriesOf, textOf, type Value } from '../schema/static/values.ts';
import { nearestFile } from './dependencies.ts';
import type { DetectedSite } from './detect-framework.ts';
import { readEleventyConfig } from './eleventy/routes.ts';
import { type Ecosystem, type Framework, frameworkOf } from './frameworks.ts';

/** Where the configuration says a build goes, relative to the site; undefined when it says nothing that can be read, or leaves the site. */
async function configuredOutput(site: SiteFiles, { framework, config }: DetectedSite, dependencies: Set<string>) {
  if (framework === null || config === null) return undefined;
  const { output } = frameworkOf(framework.id);
  if (output.key.length === 0) return undefined;
  const reading = { site, warnings: [], dependencies };
  // Its configuration is a function that also calls what sets the directory.
  if (framework.id === 'eleventy') return inside((await readEleventyConfig(config, reading)).output);
  const data = /\.(toml|ya?ml|json)$/.test(config);
  const value = data ? await readDataConfig(config, reading) : (await readCodeConfig(config, reading)).value;
  return inside(textOf(output.key.reduce<Value | undefined>(member, value ?? undefined)));
}

/** A directory below the site's; undefined for one that is not. */
function inside(text: string | undefined): string | undefined {
  const clean = text?.replace(/^(\.?\/)+|(?<!\/)\/+$/g, '');
  return clean === undefined || clean === '' || /(^|\/)\.\.(\/|$)|^[A-Za-z]:/.test(clean) ? undefined : clean;
}

/** Keys of data are written in any case by some. */
const member = (value: Value | undefined, key: string): Value | undefined =>
  at(value, key) ?? entriesOf(value).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];

/** How a site is built by default. */
export interface EnvironmentDefaults {
  /** Where the commands run, from the repository's root: the directory of the package manifest, else of the site. */
  root_directory: string;
  package_manager: string | null;
  /** null: nothing has to be installed. */
  install_command: string | null;
  /** null: the files are published as they are. */
  build_command: string | null;
  /** Relative to `root_directory`. */
  output_directory: string;
}

interface PackageManager {
  name: string;
  /** Lock files, or other files it is known by. */
  files: readonly string[];
  install: string;
  /** Before the name of a script, and before a program of a package. */
  run: string;
  execute: string;
}

/** The first whose file is nearest is taken; the last is the usual one. */
const managers: Record<Ecosystem, readonly PackageManager[]> = {
  node: [
    manager('pnpm', ['pnpm-lock.yaml'], 'pnpm install --frozen-lockfile', 'pnpm run', 'pnpm exec'),
    manager('bun', ['bun.lock', 'bun.lockb'], 'bun install --frozen-lockfile', 'bun run', 'bunx'),
    manager('yarn', ['yarn.lock'], 'yarn install --frozen-lockfile', 'yarn run', 'yarn run'),
    manager('npm', ['package-lock.json', 'npm-shrinkwrap.json'], 'npm ci', 'npm run', 'npx'),
    manager('npm', ['package.json'], 'npm install', 'npm run', 'npx'),
  ],
  ruby: [manager('bundler', ['Gemfile'], 'bundle install', 'bundle exec', 'bundle exec')],
  python: [
    manager('uv', ['uv.lock'], 'uv sync', 'uv run', 'uv run'),
    manager('poetry', ['poetry.lock'], 'poetry install', 'poetry run', 'poetry run'),
    manager('pip', ['requirements.txt'], 'pip install -r requirements.txt', '', ''),
  ],
  go: [],
};

function manager(name: string, files: readonly string[], install: string, run: string, execute: string) {
  return { name, files, install, run, execute };
}

/** Scripts of `package.json` that build a site, the usual one first. */
const buildScripts = ['build', 'docs:build', 'build:docs', 'site:build'];

const manifests: Record<Ecosystem, readonly string[]> = {
  node: ['package.json'],
  ruby: ['Gemfile'],
  python: ['requirements.txt', 'pyproject.toml'],
  go: [],
};

/**
 * The commands and the output directory of a site that was detected; those of files that are published as they are when none was.
 * The output directory is read from the configuration, where it says one.
 * @param dependencies gets the files that are read
 */
export async function environmentDefaults(
  site: SiteFiles,
  detected: DetectedSite,
  dependencies = new Set<string>(),
): Promise<EnvironmentDefaults> {
  const { framework: found, root, manifest } = detected;
  if (found === null) return asIs(site, root);
  const framework = frameworkOf(found.id);
  const present = await setYielding(site.paths, ({ path }) => path);
  const ecosystem = manifest?.ecosystem ?? framework.ecosystem;
  const home = manifest?.path ?? nearestFile(present, root, manifests[ecosystem]);
  const directory = home === undefined ? root : home.slice(0, Math.max(0, home.lastIndexOf('/')));
  const chosen = await managerOf(site, present, directory, ecosystem, dependencies);
  const output = (await configuredOutput(site, detected, dependencies)) ?? framework.output.directory;
  return {
    root_directory: directory,
    package_manager: chosen?.name ?? null,
    install_command: chosen?.install ?? null,
    build_command: buildCommand(framework, chosen, manifest?.scripts ?? [], below(directory, root) ?? ''),
    output_directory: joinPath(root === directory ? '' : (below(directory, root) ?? ''), output),
  };
}

/** Of the managers' files the nearest counts: a workspace has its lock at the top. */
async function managerOf(
  site: SiteFiles,
  present: ReadonlySet<string>,
  directory: string,
  ecosystem: Ecosystem,
  dependencies: Set<string>,
) {
  const all = managers[ecosystem];
  const locks = all.flatMap(({ files }) => files).filter((name) => name !== 'package.json');
  const path = nearestFile(present, directory, locks) ?? nearestFile(present, directory, ['package.json']);
  const name = path?.slice(path.lastIndexOf('/') + 1) ?? '';
  const found = all.find(({ files }) => files.includes(name));
  if (found?.name !== 'yarn' || path === undefined) return found;
  // The lock of Yarn 2 and later says so in its first lines.
  dependencies.add(path);
  const berry = (await site.read(path))?.slice(0, 1000).includes('__metadata:') ?? false;
  return berry ? { ...found, install: 'yarn install --immutable' } : found;
}

function buildCommand(
  { build }: Framework,
  chosen: PackageManager | undefined,
  scripts: readonly string[],
  site: string,
): string {
  const script = buildScripts.find((name) => scripts.includes(name));
  if (chosen && script !== undefined) return `${chosen.run} ${script}`;
  const command = site !== '' && build.startsWith('vitepress') ? `${build} ${site}` : build;
  return chosen && chosen.execute !== '' ? `${chosen.execute} ${command}` : command;
}

/** Of a site without a framework the directory with the first page is published, else all of it. */
async function asIs(site: SiteFiles, root: string): Promise<EnvironmentDefaults> {
  const usual = ['public', 'dist', 'site', 'docs', '_site', 'build', 'out'];
  const pages = new Map(['', ...usual].map((directory) => [joinPath(root, directory, 'index.html'), directory]));
  const found = new Set<string>();
  await forEachYielding(site.paths, ({ path }) => {
    const directory = pages.get(path);
    if (directory !== undefined) found.add(directory);
  });
  const output_directory = found.has('') ? '' : (usual.find((directory) => found.has(directory)) ?? '');
  return { root_directory: root, package_manager: null, install_command: null, build_command: null, output_directory };
}
