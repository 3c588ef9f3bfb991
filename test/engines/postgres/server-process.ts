/** A server of its own for tests that kill it: `node server-process.ts <dataDir> [lock]`, one JSON line when it is up or refused. */
import { DataDirInUse, lockDataDir, startEmbeddedPostgres } from '../../../src/db/postgres.ts';

const [dataDir = '', only] = process.argv.slice(2);
const log = { info() {}, warn() {}, error() {} };

try {
  const holds =
    only === 'lock'
      ? await lockDataDir(dataDir)
      : { url: (await startEmbeddedPostgres({ dataDir, log, durable: true })).url };
  console.log(JSON.stringify({ up: true, ...holds }));
  setInterval(() => undefined, 60_000);
} catch (error) {
  console.log(JSON.stringify({ up: false, inUse: error instanceof DataDirInUse, message: (error as Error).message }));
}
