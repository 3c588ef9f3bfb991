import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { refNameProblem } from '../../../domain/studio/ref-name.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Ref } from '../../../ports/git-records.ts';
import { replaceFile } from '../durable-files.ts';
import type { GitProcesses } from '../git-process.ts';
import { createLayout, hasLayout, removeLayout } from '../layout.ts';
import type { ObjectFormat } from '../objects/object-id.ts';
import { RefFiles } from '../refs/ref-files.ts';
import type { GitRepository } from '../repository.ts';
import { incomingObjects } from './fsck.ts';

const wall = 2 * 3600_000;
const recordName = 'repository.json';
const bundlePattern = /^repository-[0-9a-f-]{36}\.bundle$/;
/** A bundle, or what one was written from by a process that was killed. */
const ownPattern = /^repository-[0-9a-f-]{36}\.(bundle|git)/;

/** What a bundle does not say, and which one it is about: it is replaced as the last step of a backup. */
interface BackupRecord {
  version: 1;
  object_format: ObjectFormat;
  default_branch: string;
  refs: number;
  /** File name; null for a repository without a commit, of which git makes no bundle. */
  bundle: string | null;
}

/**
 * Writes all refs, internal ones too, and all they reach as one bundle (gitformat-bundle) and a record beside it. Writers go on: the refs are
 * those of one moment during the call, with all of their history.
 *
 * @param target directory, made when it is not there; an older backup in it stays whole until this one is
 */
export async function backupRepository(
  processes: GitProcesses,
  repository: GitRepository,
  target: string,
  signal: AbortSignal,
): Promise<{ bytes: number; refs: readonly Ref[] }> {
  await mkdir(target, { recursive: true });
  const refs = await repository.refsBelow('refs');
  const bundle = refs.length > 0 ? `repository-${randomUUID()}.bundle` : null;
  const path = join(resolve(target), bundle ?? '');
  const record: BackupRecord = {
    version: 1,
    object_format: await repository.objectFormat(),
    default_branch: await repository.defaultBranch(),
    refs: refs.length,
    bundle,
  };
  try {
    if (bundle !== null) await writeBundle(processes, { repository, refs, record }, path, signal);
    await replaceFile(join(target, recordName), `${JSON.stringify(record, null, 2)}\n`);
    for (const name of await readdir(target))
      if (ownPattern.test(name) && name !== bundle) await rm(join(target, name), { recursive: true, force: true });
    return { bytes: bundle === null ? 0 : (await stat(path)).size, refs };
  } catch (error) {
    if (bundle !== null) await rm(path, { force: true });
    throw error;
  }
}

interface Snapshot {
  repository: GitRepository;
  refs: readonly Ref[];
  record: BackupRecord;
}

/**
 * Makes a repository with refs that no writer moves, and the objects of another one (gitrepository-layout, `objects/info/alternates`). git leaves
 * out of a bundle a ref whose commit was stored after it enumerated the objects.
 */
async function freezeRefs({ repository, refs, record }: Snapshot, gitDir: string): Promise<void> {
  await createLayout(gitDir, record.default_branch, record.object_format);
  await writeFile(join(gitDir, 'objects/info/alternates'), `${join(resolve(repository.gitDir), 'objects')}\n`);
  await writeFile(join(gitDir, 'packed-refs'), refs.map(({ name, oid }) => `${oid} ${name}\n`).join(''));
}

async function writeBundle(
  processes: GitProcesses,
  snapshot: Snapshot,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const gitDir = path.replace(/bundle$/, 'git');
  try {
    await freezeRefs(snapshot, gitDir);
    const options = { gitDir, timeout: wall, lowPriority: true, signal };
    const { code, stderr } = await processes.runNow(['bundle', 'create', '--quiet', path, '--all'], options);
    if (code !== 0)
      throw new DomainError('repository_unavailable', 'The backup could not be made: check the repository for damage', {
        cause: new Error(stderr),
      });
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/**
 * Makes a repository out of a backup; its objects are checked as those of a push are.
 *
 * @throws DomainError `already_exists` when there is one, `invalid_request` when there is no backup that can be read
 */
export async function restoreRepository(
  processes: GitProcesses,
  gitDir: string,
  source: string,
  signal: AbortSignal,
): Promise<void> {
  if (await hasLayout(gitDir)) throw new DomainError('already_exists', 'There is a repository with this id');
  const record = await readRecord(source);
  await checkBundle(source, record);
  await createLayout(gitDir, record.default_branch, record.object_format);
  if (record.bundle === null) return;
  try {
    const options = ['--quiet', '--atomic', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'];
    const { code, stderr } = await processes.runNow(
      ['fetch', ...options, '--end-of-options', join(resolve(source), record.bundle), '+refs/*:refs/*'],
      { gitDir, timeout: wall, signal, config: [['protocol.file.allow', 'always'], ...incomingObjects('fetch')] },
    );
    // A bundle cut short in its header is a sound bundle of fewer refs.
    const found = (await new RefFiles(gitDir).list('refs')).length;
    if (code !== 0 || found !== record.refs)
      throw damaged(record.bundle, `does not hold ${record.refs} whole refs`, new Error(stderr));
  } catch (error) {
    await removeLayout(gitDir);
    throw error;
  }
}

/** git takes a directory for a repository, by whose configuration it would go, and which may take its objects from others. */
async function checkBundle(source: string, { bundle }: BackupRecord): Promise<void> {
  if (bundle === null) return;
  const found = await lstat(join(source, bundle)).catch(() => null);
  if (!found?.isFile()) throw damaged(bundle, found ? 'is no plain file' : 'is missing');
}

async function readRecord(source: string): Promise<BackupRecord> {
  try {
    const record = JSON.parse(await readFile(join(source, recordName), 'utf8')) as BackupRecord;
    const known = record.version === 1 && ['sha1', 'sha256'].includes(record.object_format);
    const named = record.bundle === null || bundlePattern.test(record.bundle);
    if (known && named && refNameProblem(record.default_branch) === null) return record;
  } catch (cause) {
    throw damaged(recordName, 'is not there or not readable', cause);
  }
  throw damaged(recordName, 'was not written by this version');
}

const damaged = (file: string, problem: string, cause?: unknown) =>
  new DomainError('invalid_request', `${file}: ${problem}; copy the backup again, or take another one`, { cause });
