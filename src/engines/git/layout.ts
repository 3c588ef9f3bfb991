import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../../kernel/errors.ts';
import { syncDirectories, writeNewFile } from './durable-files.ts';
import type { ObjectFormat } from './objects/object-id.ts';

/** The configuration of a repository, written once by the service alone. */
function configText(format: ObjectFormat): string {
  const version = format === 'sha1' ? 0 : 1;
  return [
    '[core]',
    `\trepositoryformatversion = ${version}`,
    '\tbare = true',
    '\tcommitGraph = true',
    ...(format === 'sha256' ? ['[extensions]', '\tobjectFormat = sha256'] : []),
    '[gc]',
    '\tauto = 0',
    '\tpruneExpire = 2.weeks.ago',
    '[receive]',
    '\tfsckObjects = true',
    '[fetch]',
    '\tfsckObjects = true',
    '[repack]',
    '\twriteBitmaps = true',
    '[uploadpack]',
    '\tallowFilter = true',
    '[transfer]',
    '\thideRefs = refs/portico',
    '\thideRefs = refs/remotes',
    '',
  ].join('\n');
}

/** Makes an empty bare repository (gitrepository-layout) beside its place. @returns where */
async function makeAside(gitDir: string, defaultBranch: string, format: ObjectFormat): Promise<string> {
  const aside = `${gitDir}.new-${randomUUID()}`;
  const directories = ['', 'objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'refs/tags'].map((name) =>
    join(aside, name),
  );
  for (const directory of directories) await mkdir(directory, { recursive: true });
  await writeNewFile(join(aside, 'HEAD'), `ref: refs/heads/${defaultBranch}\n`, 0o644);
  await writeNewFile(join(aside, 'config'), configText(format), 0o644);
  await syncDirectories(directories);
  return aside;
}

const isInTheWay = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOTEMPTY';

/**
 * Makes an empty bare repository. It is built aside and renamed, so it is there whole or not at all.
 *
 * @throws DomainError `already_exists` when there is one
 */
export async function createLayout(gitDir: string, defaultBranch: string, format: ObjectFormat): Promise<void> {
  const aside = await makeAside(gitDir, defaultBranch, format);
  try {
    await rename(aside, gitDir);
  } catch (cause) {
    await rm(aside, { recursive: true });
    if (!isInTheWay(cause)) throw cause;
    throw new DomainError('already_exists', 'There is a repository with this id', { cause });
  }
  await syncDirectories([join(gitDir, '..')]);
}

/** How often what has no repository in it is taken out of the way. */
const mostTries = 20;

/** Moves a repository to a place at which writers that are refused may leave directories of refs meanwhile. */
async function moveTo(gitDir: string, from: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await rename(from, gitDir);
      return await syncDirectories([join(gitDir, '..')]);
    } catch (error) {
      if (!isInTheWay(error) || tries === mostTries || (await hasLayout(gitDir))) throw error;
      await rm(gitDir, { recursive: true, force: true });
    }
  }
}

/**
 * Puts an empty repository in the place of another one. A writer may have committed to that since it was found empty: what has left its place takes no
 * more refs, so then it is looked at again, and brought back when it has any.
 *
 * @param isEmpty whether the repository at a place has no refs
 * @returns false: it is not empty any more, and stays
 */
export async function replaceLayout(
  gitDir: string,
  defaultBranch: string,
  format: ObjectFormat,
  isEmpty: (gitDir: string) => Promise<boolean>,
): Promise<boolean> {
  const aside = await makeAside(gitDir, defaultBranch, format);
  const gone = `${gitDir}.gone-${randomUUID()}`;
  await rename(gitDir, gone);
  const isReplaced = await isEmpty(gone).catch(() => false);
  await moveTo(gitDir, isReplaced ? aside : gone);
  await rm(isReplaced ? gone : aside, { recursive: true, force: true });
  return isReplaced;
}

/**
 * The hash a repository uses, from its configuration.
 *
 * @throws DomainError `repository_unavailable` when there is no repository
 */
export async function readFormat(gitDir: string): Promise<ObjectFormat> {
  try {
    const config = await readFile(join(gitDir, 'config'), 'utf8');
    return /^\s*objectFormat\s*=\s*sha256\s*$/im.test(config) ? 'sha256' : 'sha1';
  } catch (cause) {
    throw new DomainError('repository_unavailable', 'The repository is not there', { cause });
  }
}

/**
 * Identifies the repository at a place: an import or a restore, of any process, puts another one there, even of another hash. At once, since every
 * request to content needs it; it is one stat.
 *
 * @returns null without one
 */
export function identityOf(gitDir: string): string | null {
  const found = statSync(gitDir, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/** True when a repository of this service exists there. */
export async function hasLayout(gitDir: string): Promise<boolean> {
  return readFormat(gitDir).then(
    () => true,
    () => false,
  );
}

/** Removes a repository: out of sight in one step, then file by file. */
export async function removeLayout(gitDir: string): Promise<void> {
  const aside = `${gitDir}.gone-${randomUUID()}`;
  try {
    await rename(gitDir, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}
