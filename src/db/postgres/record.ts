import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { processIdentity } from './processes.ts';

const postgresRecord = z.object({
  url: z.string(),
  pid: z.int(),
  started_at: z.iso.datetime(),
  version: z.string(),
  socket_directory: z.string(),
  /** The settings it was started with; one started with others is not adopted. */
  settings: z.record(z.string(), z.string()).readonly(),
});

/** `postgres.json`: where the embedded server of a data directory answers, password included, hence mode 0600. */
export type PostgresRecord = z.infer<typeof postgresRecord>;

const pathOf = (dataDir: string) => join(dataDir, 'postgres.json');

/**
 * The record of a running embedded server, `null` without one. It may be an orphan: who wants to join a running Portico
 * first tries `lockDataDir`, and reads this only when that says the directory is in use.
 */
export async function readPostgresRecord(dataDir: string): Promise<PostgresRecord | null> {
  const record = await readLastRecord(dataDir);
  return record !== null && (await processIdentity(record.pid)) !== null ? record : null;
}

/** The record as it was left, whether its server lives or not. */
export async function readLastRecord(dataDir: string): Promise<PostgresRecord | null> {
  const text = await readFile(pathOf(dataDir), 'utf8').catch(() => '');
  try {
    return postgresRecord.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export async function writeRecord(dataDir: string, record: PostgresRecord): Promise<void> {
  const draft = `${pathOf(dataDir)}.new`;
  await rm(draft, { force: true });
  await writeFile(draft, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, pathOf(dataDir));
}

export async function removeRecord(dataDir: string): Promise<void> {
  await rm(pathOf(dataDir), { force: true });
}
