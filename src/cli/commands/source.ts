import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ImportSource } from '../../domain/ports/git-transfer.ts';
import { importUrl } from '../../domain/projects/projects.schema.ts';
import { Problem } from '../command.ts';

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
export async function sourceOf(text: string, directory: string): Promise<Pick<ImportSource, 'url' | 'kind'>> {
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
