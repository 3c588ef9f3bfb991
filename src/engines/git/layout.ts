import { randomUUID } from 'node:crypto';
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

/**
 * Makes an empty bare repository (gitrepository-layout). It is built aside and renamed, so it is there whole or not at all.
 *
 * @throws DomainError `already_exists` when there is one
 */
export async function createLayout(gitDir: string, defaultBranch: string, format: ObjectFormat): Promise<void> {
  const aside = `${gitDir}.new-${randomUUID()}`;
  const directories = ['', 'objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'refs/tags'].map((name) =>
    join(aside, name),
  );
  for (const directory of directories) await mkdir(directory, { recursive: true });
  await writeNewFile(join(aside, 'HEAD'), `ref: refs/heads/${defaultBranch}\n`, 0o644);
  await writeNewFile(join(aside, 'config'), configText(format), 0o644);
  await syncDirectories(directories);
  try {
    await rename(aside, gitDir);
  } catch (cause) {
    await rm(aside, { recursive: true });
    if ((cause as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw cause;
    throw new DomainError('already_exists', 'There is a repository with this id', { cause });
  }
  await syncDirectories([join(gitDir, '..')]);
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
