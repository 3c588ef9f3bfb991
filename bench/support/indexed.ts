import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readPostgresRecord } from '../../src/db/postgres.ts';
import { timed } from './statistics.ts';

/** Milliseconds; 100,000 files take a minute or two. */
const limit = 300_000;

/** Waits until the server has stored the words of all files, which it does in the background. @returns milliseconds */
export async function untilIndexed(dataDir: string, files: number): Promise<number> {
  const record = await readPostgresRecord(dataDir);
  const database = new pg.Client({ connectionString: record?.url });
  await database.connect();
  try {
    return await timed(async () => {
      const stored = async () => Number((await database.query('select count(*) from studio_blob')).rows[0]?.count);
      for (const began = Date.now(); (await stored()) < files; await delay(100)) {
        if (Date.now() - began > limit) throw new Error(`${await stored()} of ${files} files are stored`);
      }
    });
  } finally {
    await database.end();
  }
}
