import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { commandsOf } from './support/guides.ts';
import { newDataDir, readFirstRun, startServer } from './support/server-process.ts';

const run = promisify(execFile);

test('“Members” does what it says, typed as it stands', async () => {
  const dataDir = await newDataDir();
  const server = await startServer(dataDir);
  const commands = (await commandsOf('people', 'Members')).replaceAll('http://localhost:4280', server.url);
  const { setup_url = '' } = await readFirstRun(dataDir);
  const { stdout } = await run('bash', ['-c', commands], {
    env: { PATH: process.env.PATH, SETUP: setup_url },
    timeout: 60_000,
  });
  const [made, invited, members, sessions, out] = stdout.split(/(?<=[}\]])\n?(?=[{[])/).map((text) => JSON.parse(text));
  expect(made.data).toEqual({ setup: { organization: 'engines' } });
  expect(invited).toMatchObject({ role: 'editor', projects: ['site'], join_url: expect.stringContaining('/join#') });
  expect(members.map(({ email, role }: Record<string, string>) => [email, role])).toEqual([
    ['ada@example.org', 'owner'],
    ['bob@example.org', 'editor'],
  ]);
  expect(sessions.data.sessions.nodes).toMatchObject([{ browser: expect.stringMatching(/^curl/), is_current: true }]);
  expect(out.data).toEqual({ signOut: { message: 'Signed out' } });
});
