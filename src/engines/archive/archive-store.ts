import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../../domain/errors.ts';
import type { Archive, ArchiveStore } from '../../domain/ports/archive.ts';
import { draftIn } from './archive-draft.ts';
import { filesBelow, linesOf, measure, syncAll, syncOne } from './files.ts';
import { type ArchivedFile, manifestName, manifestText, readManifest } from './manifest.ts';

interface Options {
  /** Version of the program, for those who open an archive later. */
  product_version: string;
}

/** Archives as directories of the file system, readable for their owner alone. */
export function createArchiveStore({ product_version }: Options): ArchiveStore {
  return {
    async create(place, fill, signal) {
      await refuseTaken(place);
      const parent = path.dirname(place);
      await mkdir(parent, { recursive: true });
      const aside = `${place}.unfinished-${randomUUID()}`;
      try {
        await mkdir(aside, { mode: 0o700 });
        const label = await fill(draftIn(aside, signal));
        const files = await inventory(aside, signal);
        const manifest = manifestText({ product_version, ...label, files });
        await writeFile(path.join(aside, manifestName), manifest, { mode: 0o600 });
        await syncAll(aside);
        signal.throwIfAborted();
        await rename(aside, place).catch((cause: unknown) => {
          throw taken(place, cause);
        });
        await syncOne(parent);
        return files.reduce((sum, file) => sum + file.bytes, Buffer.byteLength(manifest));
      } catch (error) {
        await rm(aside, { recursive: true, force: true });
        throw error;
      }
    },
    open,
  };
}

const taken = (place: string, cause?: unknown) =>
  new DomainError('already_exists', `${place} exists already; name a directory that does not`, { cause });

/** An empty directory is as good as none: the finished archive takes its place. */
async function refuseTaken(place: string): Promise<void> {
  const found = await lstat(place).catch(() => null);
  if (found && !(found.isDirectory() && (await readdir(place)).length === 0)) throw taken(place);
}

async function inventory(root: string, signal: AbortSignal): Promise<ArchivedFile[]> {
  const files: ArchivedFile[] = [];
  for (const file of await filesBelow(root))
    files.push({ path: file, ...(await measure(path.join(root, file), signal)) });
  return files;
}

async function open(place: string, signal: AbortSignal): Promise<Archive> {
  const text = await readFile(path.join(place, manifestName), 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR') throw cause;
    throw new DomainError('not_found', `${place} is no backup: it has no ${manifestName}`, { cause });
  });
  const { product_version, files, format: _format, ...label } = readManifest(text);
  const root = await realpath(place);
  for (const file of files) await compare(root, file, signal);
  const listed = files.map((file) => file.path);
  return {
    label,
    product_version,
    files: listed,
    lines: (name) => linesOf(path.join(root, name)),
    folder: (name) => path.join(root, name),
  };
}

/** @throws DomainError `invalid_request` when a file is not the one that was written. */
async function compare(root: string, { path: name, bytes, sha256 }: ArchivedFile, signal: AbortSignal): Promise<void> {
  const refuse = (problem: string) =>
    new DomainError('invalid_request', `${name}: ${problem}; copy the backup again, or take another one`);
  const place = path.join(root, name);
  const found = await lstat(place).catch(() => null);
  if (!found) throw refuse('is missing');
  // A link may stand in any part of the path, and lead anywhere.
  if (!found.isFile() || (await realpath(place)) !== place) throw refuse('is no plain file of the backup');
  if (found.size !== bytes) throw refuse(`has ${found.size} bytes, not the ${bytes} it was written with`);
  if ((await measure(place, signal)).sha256 !== sha256) throw refuse('is not what it was written as');
}
