import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';

export const manifestName = 'portico-backup.json';
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

export type ArchivedFile = z.output<typeof archivedFile>;
export type ManifestContents = z.output<typeof contents>;

/** Of the manifest itself, over its contents as compact JSON in the order they stand. */
const checksum = (value: object) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The manifest as it is written. */
export function manifestText(values: Omit<ManifestContents, 'format'>): string {
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
export function readManifest(text: string): ManifestContents {
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
