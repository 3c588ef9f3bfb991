import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterEach } from 'vitest';
import { createDatabase, type TestDatabase } from './postgres.ts';
import { kill, newDataDir, portico, type ServerProcess, settingsFor, startServer } from './server-process.ts';

let database: TestDatabase | undefined;
const servers: ServerProcess[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await kill(server.child);
  await database?.drop();
  database = undefined;
});

/** Two servers with the demo on one database and one data directory, a command that makes tokens there, and the demo's repository. */
export async function twoServers(settings: Record<string, string> = {}) {
  database = await createDatabase();
  const { url } = database;
  const dataDir = await newDataDir();
  const more = { DATABASE_URL: url, ...settings };
  const one = await startServer(dataDir, more);
  const other = await startServer(dataDir, more);
  servers.push(one, other);
  const token = async (preset: string) => {
    const made = await portico(
      ['token', 'create', '--organization', 'demo', '--preset', preset],
      settingsFor(dataDir, more),
    );
    return { text: made.stdout.trim(), id: /^Token (\d+)/.exec(made.stderr)?.[1] ?? '' };
  };
  return {
    url,
    one,
    other,
    owner: await token('admin'),
    reader: await token('readonly'),
    gitDir: await onlyRepository(dataDir),
  };
}

/** The repository of a data directory that has one. */
export async function onlyRepository(dataDir: string): Promise<string> {
  const names = await readdir(path.join(dataDir, 'git'));
  return path.join(dataDir, 'git', names.find((name) => name.endsWith('.git')) ?? '');
}
