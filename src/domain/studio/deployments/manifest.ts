import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { BlobStore, Sha256 } from '../../../ports/blobs.ts';
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

/** Whether a URL path can name a file: one with a backslash, a control character or an empty, `.` or `..` segment cannot. */
export const isServable = (path: string): boolean => path.isWellFormed() && !unservable.test(path);

/** Media type a file of an output is served with, by its name alone. */
export const outputMime = (path: string): string => mediaTypeOf(path)?.mime ?? mimeOf(path, false);

/** Whether a file is worth compressing: text over 1 KiB. */
export const isEncodable = ([, , size, mime]: ManifestEntry): boolean =>
  size > leastEncoded && /^text\/|[/+](?:xml|json|yaml|toml)$/.test(mime);

/**
 * Puts the files of an output in order.
 * @throws DomainError `invalid_request` when two have one path, or one has no URL (see `isServable`)
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

const mebibyte = 1024 * 1024;

/** What one output may hold, built or published as it is; numbers and bytes. */
export interface OutputLimits {
  outputFiles: number;
  outputBytes: number;
  outputFileBytes: number;
}

export const outputLimits: OutputLimits = {
  outputFiles: 20_000,
  outputBytes: 1024 * mebibyte,
  outputFileBytes: 100 * mebibyte,
};

type TooLarge = { problem: 'too_many_files' | 'too_large' | 'file_too_large'; detail: string };

/** Adds up the files of an output as they are found, so that one without end is left early. */
export class OutputSize {
  readonly #limits: OutputLimits;
  #files = 0;
  bytes = 0;

  constructor(limits: OutputLimits = outputLimits) {
    this.#limits = limits;
  }

  /** Counts a file, its size in bytes. @returns what is too large with this file, or null */
  add(path: string, size: number): TooLarge | null {
    const { outputFiles, outputBytes, outputFileBytes } = this.#limits;
    this.#files += 1;
    this.bytes += size;
    if (this.#files > outputFiles)
      return { problem: 'too_many_files', detail: `The output has more than ${outputFiles} files` };
    if (size > outputFileBytes)
      return { problem: 'file_too_large', detail: `${path} has more than ${outputFileBytes} bytes` };
    if (this.bytes <= outputBytes) return null;
    return { problem: 'too_large', detail: `The output has more than ${outputBytes} bytes` };
  }
}

/** Directories that are never meant for readers. */
export const neverPublished: ReadonlySet<string> = new Set(['.git', 'node_modules']);
