import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import type { Archive, ArchiveDraft, ArchiveStore } from '../../ports/archive.ts';

const manifestName = 'portico-backup.json';
/** Of the layout of an archive; a program reads its own and older ones. */
const formatVersion = 1;

const count = z.int().min(0);

/** A file by its place inside the archive; nothing that could lead out of it. */
const filePath = z
  .string()
  .max(1000)
  .refine((path) => /^[^/\\\0]+(?:\/[^/\\\0]+)*$/.test(path), 'is not a relative path')
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'leads out of the backup');

const archivedFile = z.object({ path: filePath, bytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) });

const contents = z.object({
  format: z.literal(formatVersion),
  product_version: z.string(),
  made_at: z.iso.datetime(),
  project: z.object({
    organization: z.string(),
    organization_name: z.string(),
    machine_name: z.string(),
    name: z.string(),
  }),
  counts: z.record(z.string(), count),
  files: z.array(archivedFile),
});

type ArchivedFile = z.output<typeof archivedFile>;
type ManifestContents = z.output<typeof contents>;

/** Of the manifest itself, over its contents as compact JSON in the order they stand. */
const checksum = (value: object) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The manifest as it is written. */
function manifestText(values: Omit<ManifestContents, 'format'>): string {
  const all = { format: formatVersion, ...values };
  return `${JSON.stringify({ ...all, checksum: checksum(all) }, null, 2)}\n`;
}

const damaged = (problem: string, cause?: unknown) =>
  new DomainError('invalid_request', `${manifestName}: ${problem}; copy the backup again, or take another one`, {
    cause,
  });

/**
 * Reads a manifest.
 * @throws DomainError `invalid_request` for one of a later format, or one that is damaged.
 */
function readManifest(text: string): ManifestContents {
  const { checksum: stated, ...rest } = parsedObject(text);
  const { format, product_version: maker } = rest;
  if (typeof format === 'number' && format !== formatVersion) {
    const problem = `format ${format} of a backup made by Portico ${maker} is not known here`;
    throw new DomainError(
      'invalid_request',
      `${manifestName}: ${problem}; restore it with that version or a later one`,
    );
  }
  const read = contents.safeParse(rest);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw damaged(`${issue?.path.join('.')}: ${issue?.message}`, read.error);
  }
  if (checksum(rest) !== stated) throw damaged('its checksum is another one');
  return read.data;
}

function parsedObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object') return value as Record<string, unknown>;
  } catch (cause) {
    throw damaged('is not readable', cause);
  }
  throw damaged('is not readable');
}

/** Makes a directory and all below it survive a loss of power: contents first, then names. */
async function syncAll(root: string): Promise<void> {
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  const placeOf = (entry: (typeof entries)[number]) => path.join(entry.parentPath, entry.name);
  const files = entries.filter((entry) => entry.isFile()).map(placeOf);
  const directories = entries.filter((entry) => entry.isDirectory()).map(placeOf);
  for (const place of [...files, ...directories, root]) await syncOne(place);
}

/** fsync of one file or directory. */
async function syncOne(place: string): Promise<void> {
  const handle = await open(place, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Paths of all files below a directory, relative, with slashes, sorted. */
async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .sort();
}

/** Size in bytes and SHA-256, hexadecimal, of a file. */
async function measure(place: string, signal: AbortSignal): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(place, { signal })) hash.update(chunk as Buffer);
  return { bytes: (await stat(place)).size, sha256: hash.digest('hex') };
}

/** No row comes near it; characters. */
const longestLine = 64 * 1024 * 1024;

/**
 * The lines of a text file, without holding it all. JSON leaves U+2028 and U+2029 as they are, which `node:readline` would break at.
 * @throws DomainError `invalid_request` for a line that is longer than any row
 */
async function* linesOf(place: string): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of createReadStream(place, { encoding: 'utf8' })) {
    // Joined once, at its end: joined with each piece, a long line would take time by the square of its length.
    const [end = '', ...begun] = `${chunk}`.split('\n');
    parts.push(end);
    length += end.length;
    for (const part of begun) {
      yield parts.join('');
      parts = [part];
      length = part.length;
    }
    if (length > longestLine)
      throw new DomainError(
        'invalid_request',
        `${path.basename(place)}: has a line longer than ${longestLine} characters`,
      );
  }
  const last = parts.join('');
  if (last !== '') yield last;
}

/** The draft of an archive in a directory that is not yet where it will be. */
function draftIn(directory: string, signal: AbortSignal): ArchiveDraft {
  return {
    async writeLines(name, lines) {
      const place = path.join(directory, name);
      await mkdir(path.dirname(place), { recursive: true });
      // Aside, because the lines may come from the file they replace.
      const written = await writeLines(`${place}.new`, lines, signal);
      await rename(`${place}.new`, place);
      return written;
    },
    lines: (name) => linesOf(path.join(directory, name)),
    async folder(name) {
      const place = path.join(directory, name);
      await mkdir(place, { recursive: true });
      return place;
    },
  };
}

async function writeLines(place: string, lines: AsyncIterable<string>, signal: AbortSignal): Promise<number> {
  const file = createWriteStream(place, { mode: 0o600, signal });
  // Looked at where it matters: the next write, and the end.
  const failed = once(file, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  let written = 0;
  try {
    for await (const line of lines) {
      signal.throwIfAborted();
      if (!file.write(`${line}\n`)) await Promise.race([once(file, 'drain'), failed]);
      written += 1;
    }
    file.end();
    await Promise.race([once(file, 'close'), failed]);
  } finally {
    file.destroy();
  }
  return written;
}

interface Options {
  /** Version of the program that wrote the archive. */
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
    open: openArchive,
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

async function openArchive(place: string, signal: AbortSignal): Promise<Archive> {
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
