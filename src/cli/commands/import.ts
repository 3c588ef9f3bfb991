import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { createOrganization, getOrganization } from '../../domain/organizations/organizations.operations.ts';
import { createProject, getProject, importUrl } from '../../domain/projects/projects.operations.ts';
import type { AllServices } from '../../domain/services.ts';
import { leftOutNotice } from '../../domain/studio/ref-name.ts';
import { importRepository } from '../../domain/studio/repository/import-repository.ts';
import { getRepository } from '../../domain/studio/repository/repository.operations.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { ImportProgress, ImportSource } from '../../ports/git-transfer.ts';
import { type Command, call, callOrNull, optional, Problem, required } from '../command.ts';
import { machineNameOf, type ProjectName, shownName } from '../project-name.ts';
import { plural, type Screen } from '../screen.ts';

const scheme = /^[a-z][a-z0-9+.-]*:\/\//i;
/** `user@host:path`, git's short form of ssh. */
const sshForm = /^[\w.-]+@[\w.-]+:/;

const isDirectory = async (name: string) => (await stat(name).catch(() => null))?.isDirectory() === true;

/** A worktree or submodule has a file `.git` that leads to the repository (gitrepository-layout). */
async function isRepository(directory: string): Promise<boolean> {
  const dotGit = path.join(directory, '.git');
  if ((await readFile(dotGit, 'utf8').catch(() => '')).startsWith('gitdir: ')) return true;
  for (const place of [dotGit, directory]) {
    const parts = await Promise.all(['objects', 'refs'].map((name) => isDirectory(path.join(place, name))));
    if (parts.every(Boolean) && (await stat(path.join(place, 'HEAD')).catch(() => null))?.isFile()) return true;
  }
  return false;
}

/** git fetches nothing from a clone without its history (gitrepository-layout, `shallow`). */
async function isShallow(directory: string): Promise<boolean> {
  const files = [path.join(directory, '.git/shallow'), path.join(directory, 'shallow')];
  const found = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return found.some((file) => file?.isFile() === true && file.size > 0);
}

/**
 * What a person means by `<url|path>`: an https URL, or a directory that is a git repository, bare or not.
 * @throws Problem with the commands that make it one.
 */
async function sourceOf(text: string, directory: string): Promise<Pick<ImportSource, 'url' | 'kind'>> {
  if (scheme.test(text)) {
    const fault = importUrl.safeParse(text).error?.issues[0];
    // The text is not repeated: there may be a password in it.
    if (fault) throw new Problem(`The address ${fault.message}; or clone it with git and import the directory`);
    return { url: text, kind: 'https' };
  }
  const place = path.resolve(directory, text);
  if (!(await isDirectory(place))) {
    if (sshForm.test(text))
      throw new Problem(`${text}: ssh is not supported here; clone it with git and import the directory`);
    throw new Problem(`${place}: no such directory`);
  }
  if (await isShallow(place))
    throw new Problem(`${place} is a shallow clone; complete it there: git fetch --unshallow`);
  if (await isRepository(place)) return { url: place, kind: 'path' };
  throw new Problem(
    `${place} is not a git repository; make it one there: git init && git add --all && git commit -m 'Begin'`,
  );
}

const phases: Record<ImportProgress['phase'], string> = {
  connecting: 'Connecting',
  receiving: 'Receiving objects',
  resolving: 'Resolving deltas',
  checking: 'Checking files',
  finishing: 'Finishing',
};

/** Finds the project, or makes it and its organisation; refuses one that has content or gets it at this moment. */
async function emptyProject(services: AllServices, place: ProjectName, name: string | undefined, screen: Screen) {
  const { organization, project: machine_name } = place;
  const shown = shownName(place);
  if (!(await callOrNull(services, getOrganization, { organization }))) {
    const made = await call(services, createOrganization, { name: organization, machine_name: organization }).catch(
      (error: unknown) => {
        // Another command has made it since it was looked for.
        if (error instanceof DomainError && error.code === 'already_exists') return null;
        throw error;
      },
    );
    if (made) screen.print(`Created organisation ${organization}`);
  }
  const existing = await callOrNull(services, getProject, { organization, project: machine_name });
  if (existing) {
    const repository = await call(services, getRepository, { organization, project: machine_name });
    if ((await services.git.open(existing.uuid).branches()).length > 0)
      throw new Problem(`Project ${shown} is not empty; import into a new project`);
    if (repository.import?.state === 'queued')
      throw new Problem(`Project ${shown} waits for the import of ${repository.import.url}`);
    return existing;
  }
  const made = await call(services, createProject, { organization, name: name ?? machine_name, machine_name });
  screen.print(`Created project ${shown}`);
  return made;
}

async function printSummary(services: AllServices, place: ProjectName, uuid: string, screen: Screen): Promise<void> {
  const git = services.git.open(uuid);
  const branch = await git.defaultBranch();
  const { collections } = await services.studio.content.site(git, await git.snapshot(await git.head(branch)));
  for (const { schema, entries } of collections.values())
    screen.print(`  ${schema.collection}: ${plural(entries.length, 'entry', 'entries')}`);
  if (collections.size === 0) screen.print('  no collections found');
  const { clone_url } = await call(services, getRepository, { ...place });
  screen.print(`Clone it: git clone ${clone_url}`);
}

/** `portico import`: the only way to import from a path, and with the server running or not. */
export const importCommand: Command = {
  name: 'import',
  summary: 'Import a git repository into an empty project',
  synopsis: '<url|path> --organization <name> --project <name> [--name "Display name"]',
  notes: [
    ['--organization <name>', 'machine name; the organisation is created when it is missing'],
    ['--project <name>', 'machine name; the project is created when it is missing'],
    ['--name <text>', 'display name of a project that is created'],
  ],
  options: { organization: { type: 'string' }, project: { type: 'string' }, name: { type: 'string' } },
  words: [1, 1],
  async run([source = ''], values, { open, screen, signal }) {
    const nameOf = (option: string) => machineNameOf(option, required(values, option));
    const place = { organization: nameOf('organization'), project: nameOf('project') };
    const from = await sourceOf(source, process.cwd());
    const { services } = await open();
    signal.throwIfAborted();
    const project = await emptyProject(services, place, optional(values, 'name'), screen);
    const began = performance.now();
    const onProgress = ({ phase, received_objects: received, total_objects: total }: ImportProgress) =>
      screen.progress(phases[phase], phase === 'receiving' ? `${received}/${total}` : '');
    const { branches, default_branch, left_out } = await importRepository(services, project.id, from, {
      onProgress,
      signal,
    });
    const notice = leftOutNotice(left_out);
    if (branches === 0)
      throw new Problem(notice ?? `${from.url} has no commits yet: git add --all && git commit -m 'Begin'`);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const what = `${plural(branches, 'branch', 'branches')}, default ${default_branch}`;
    screen.print(`Imported ${from.url} into ${place.organization}/${place.project} in ${seconds} s: ${what}`);
    if (notice !== null) screen.print(notice);
    await printSummary(services, place, project.uuid, screen);
  },
};
