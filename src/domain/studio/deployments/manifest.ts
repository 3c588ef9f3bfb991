import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import type { BlobStore, Sha256 } from '../../ports/blobs.ts';
import { mediaTypeOf } from '../media/media-types.ts';
import { mimeOf } from '../mime.ts';

/** Path relative to the output directory with slashes, SHA-256 of the content, bytes, media type. */
export type ManifestEntry = readonly [path: string, sha256: Sha256, size: number, mime: string];

/** The files of one published output, sorted by path (by UTF-16 code units). */
export type Manifest = readonly ManifestEntry[];

const manifest: z.ZodType<Manifest> = z.array(
  z.tuple([z.string().min(1), z.string().regex(/^[0-9a-f]{64}$/), z.int().min(0), z.string().min(1)]),
);

/** Files below this many bytes are not worth a coding. */
const leastEncoded = 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unservable = /[\\\u0000-\u001f\u007f]|(?:^|\/)\.{0,2}(?:\/|$)/;

/** Whether a URL path can name a file: one with a backslash, a control character or an empty, `.` or `..` segment cannot be asked for. */
export const isServable = (path: string): boolean => path.isWellFormed() && !unservable.test(path);

/** Media type a file of an output is served with, by its name alone. */
export const outputMime = (path: string): string => mediaTypeOf(path)?.mime ?? mimeOf(path, false);

/** Whether `blobs.encode` should be asked for a file: text over 1 KiB. */
export const isEncodable = ([, , size, mime]: ManifestEntry): boolean =>
  size > leastEncoded && /^text\/|[/+](?:xml|json|yaml|toml)$/.test(mime);

/**
 * Puts the files of an output in order.
 * @throws DomainError `invalid_request` when two have one path, or one cannot be asked for by a URL (see `isServable`)
 */
export function makeManifest(files: Iterable<{ path: string; sha256: Sha256; size: number }>): Manifest {
  const byPath = new Map<string, ManifestEntry>();
  for (const { path, sha256, size } of files) {
    if (!isServable(path)) throw new DomainError('invalid_request', `${JSON.stringify(path)} cannot be part of a URL`);
    if (byPath.has(path)) throw new DomainError('invalid_request', `${path} is there twice`);
    byPath.set(path, [path, sha256, size, outputMime(path)]);
  }
  return [...byPath.values()].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A manifest as it is kept: JSON, an entry to a line. The same files always give the same bytes. */
function manifestText(entries: Manifest): string {
  return `[${entries.map((entry) => `\n${JSON.stringify(entry)}`).join(',')}\n]\n`;
}

/** SHA-256 of a manifest: equal exactly when path, content and type of every file are. It is also the name of the blob that holds it. */
export const outputDigest = (entries: Manifest): Sha256 =>
  createHash('sha256').update(manifestText(entries)).digest('hex');

/** Keeps a manifest. @returns its digest, by which `readManifest` finds it */
export async function storeManifest(blobs: BlobStore, entries: Manifest): Promise<Sha256> {
  return (await blobs.put(Buffer.from(manifestText(entries)))).sha256;
}

/**
 * Reads a kept manifest.
 * @throws DomainError `not_found` when it is not kept any more, `internal` when what is kept is none
 */
export async function readManifest(blobs: BlobStore, sha256: Sha256): Promise<Manifest> {
  const chunks: Buffer[] = [];
  for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
  try {
    return manifest.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (cause) {
    throw new DomainError('internal', 'A stored manifest cannot be read', { cause });
  }
}
