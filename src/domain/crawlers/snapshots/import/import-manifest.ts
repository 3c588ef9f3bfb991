import { z } from 'zod';

const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

const manifest = z.object({
  snapshot: z.int(),
  origin: z.string(),
  /** File of each URL. */
  files: z.record(z.string(), z.string()),
  redirects: z.record(z.string(), z.object({ status: z.int(), to: z.string() })),
  /** Object id of every file that imports have written here: what has another one now was edited since. */
  written: z.record(z.string(), oid),
});

/** What imports have written into a directory; paths are relative to it. */
export type ImportManifest = z.output<typeof manifest>;

const sorted = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The same content always gives the same text. */
export function manifestText({ snapshot, origin, files, redirects, written }: ImportManifest): Buffer {
  const shown = { snapshot, origin, files: sorted(files), redirects: sorted(redirects), written: sorted(written) };
  return Buffer.from(`${JSON.stringify(shown, null, 2)}\n`);
}

/** @returns null for what no import has written */
export function readManifest(content: Buffer): ImportManifest | null {
  try {
    return manifest.safeParse(JSON.parse(content.toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/** Whether two say the same, whichever snapshots they are of. */
export const isSameManifest = (one: ImportManifest, other: ImportManifest): boolean =>
  manifestText({ ...one, snapshot: 0 }).equals(manifestText({ ...other, snapshot: 0 }));
