import { cp, readdir } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { oncePerRun } from './once-per-run.ts';
import { createDatabase } from './postgres.ts';
import { newDataDir, portico, settingsFor, startServer } from './server-process.ts';

/** The demo in a database and a data directory, with tokens for it: made once for all test files, then copied. */
const demo = () =>
  oncePerRun('two-servers', async (directory) => {
    const template = await createDatabase();
    const more = { DATABASE_URL: template.url };
    const dataDir = path.join(directory, 'data');
    const server = await startServer(dataDir, more);
    const token = async (preset: string) => {
      const options = ['--organization', 'demo', '--preset', preset];
      const made = await portico(['token', 'create', ...options], settingsFor(dataDir, more));
      return { text: made.stdout.trim(), id: /^Token (\d+)/.exec(made.stderr)?.[1] ?? '' };
    };
    const tokens = { owner: await token('admin'), reader: await token('readonly') };
    await server.stop();
    return { ...tokens, template: template.name };
  });

/** Two servers with the demo on one database and one data directory, tokens for it, and the demo's repository. */
export async function twoServers(settings: Record<string, string> = {}) {
  const { directory, value } = await demo();
  const { template, owner, reader } = value;
  const { url, drop } = await createDatabase(template);
  onTestFinished(drop);
  const dataDir = await newDataDir();
  await cp(path.join(directory, 'data'), dataDir, { recursive: true });
  const more = { DATABASE_URL: url, ...settings };
  const one = await startServer(dataDir, more);
  const other = await startServer(dataDir, more);
  return { url, one, other, owner, reader, gitDir: await onlyRepository(dataDir) };
}

/** The repository of a data directory that has one. */
export async function onlyRepository(dataDir: string): Promise<string> {
  const names = await readdir(path.join(dataDir, 'git'));
  return path.join(dataDir, 'git', names.find((name) => name.endsWith('.git')) ?? '');
}
