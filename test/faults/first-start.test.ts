import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Browser, goodPassword, openBrowser, secretOf } from '../support/browser.ts';
import { fsck } from '../support/git-store.ts';
import { createDatabase } from '../support/postgres.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import {
  kill,
  newDataDir,
  postmasterPid,
  type Running,
  readFirstRun,
  type ServerProcess,
  settingsFor,
  startProgram,
  startServer,
} from '../support/server-process.ts';

const isThere = async (file: string) => (await stat(file).catch(() => null)) !== null;

/** Waits until a file, or one whose name ends so, is in a directory; false when the process ends before. */
async function appears(running: Running, directory: string, name: string): Promise<boolean> {
  while (running.child.exitCode === null) {
    const names = await readdir(directory).catch(() => []);
    if (names.some((found) => found.endsWith(name))) return true;
    await sleep(2);
  }
  return false;
}

async function expectCompleteDemo(server: ServerProcess): Promise<void> {
  const { token = '' } = await readFirstRun(server.dataDir);
  const rest = restClient(server.url, token);
  const { body } = await rest.get(`${demoStudio}/collections`);
  expect(body.map(({ name, entries_count }: never) => [name, entries_count])).toEqual([
    ['authors', 3],
    ['pages', 9],
    ['posts', 17],
  ]);
  expect((await rest.get('/organizations')).body).toEqual([{ name: 'Demo', machine_name: 'demo' }]);
  expect((await rest.get('/organizations/demo/projects')).body).toHaveLength(1);
  const repositories = (await readdir(path.join(server.dataDir, 'git'))).filter((name) => name.endsWith('.git'));
  for (const name of repositories) fsck(path.join(server.dataDir, 'git', name));
  const { status, body: commits } = await rest.get(`${demoStudio}/commits`);
  expect([status, commits.length]).toEqual([200, 1]);
}

// In the order in which a first start reaches them.
const points = [
  ['the cluster is being made', 'postgres', 'data'],
  ['PostgreSQL starts', 'postgres/data', 'postmaster.pid'],
  ['it runs', '', 'postgres.json'],
  ['the keyring is made', 'keys', 'keyring.json'],
  ['the repository is made', 'git', '.git'],
  ['the record is written', '', 'first-run.json'],
] as const;

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'a first start ended by %s again and again leaves nothing that hinders: the demo is complete, its token valid',
  async (signal) => {
    const dataDir = await newDataDir();
    const reached: string[] = [];
    for (const [what, directory, name] of points) {
      // A start may have come further than to where it was signalled to stop.
      if (signal === 'SIGTERM' && (await isThere(path.join(dataDir, directory, name)))) continue;
      const running = await startProgram('main', [], settingsFor(dataDir));
      if (await appears(running, path.join(dataDir, directory), name)) reached.push(what);
      if (signal === 'SIGKILL') await kill(running.child);
      else {
        running.child.kill(signal);
        const { code, stderr } = await running.ended;
        expect([what, code, stderr]).toEqual([what, 0, '']);
        expect(await postmasterPid(dataDir)).toBeNull();
      }
    }
    if (signal === 'SIGKILL') expect(reached).toEqual(points.map(([what]) => what));
    else expect(reached.length).toBeGreaterThanOrEqual(2);
    const server = await startServer(dataDir);
    await expectCompleteDemo(server);
    expect((await server.stop()).code).toBe(0);
  },
);

/** A new database on the server of the run, and what it holds. */
async function newDatabase() {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  const query = async (sql: string) => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    return client.query(sql).then(
      ({ rows }) => client.end().then(() => rows),
      (error) => client.end().then(() => Promise.reject(error)),
    );
  };
  return { url: database.url, query };
}

test.each([2, 4])(
  '%i servers started together on a new database make one demo with one token, which first-run.json keeps',
  async (count) => {
    const database = await newDatabase();
    const dataDir = await newDataDir();
    const settings = { DATABASE_URL: database.url };
    const servers = await Promise.all(Array.from({ length: count }, () => startServer(dataDir, settings)));
    const { token = '' } = await readFirstRun(dataDir);
    expect(await database.query(`select last4 from token`)).toEqual([{ last4: token.slice(-4) }]);
    expect(await database.query('select machine_name from organization')).toEqual([{ machine_name: 'demo' }]);
    const greeted = servers.filter((server) => server.output().stdout.includes('API token (shown once'));
    expect(greeted).toHaveLength(1);
    expect(greeted[0]?.output().stdout).toContain(token);
    for (const server of servers) {
      await expectCompleteDemo(server);
      expect((await server.stop()).code).toBe(0);
    }
  },
);

test('the token of a first run that ended before it was complete is not left valid beside the next one', async () => {
  const database = await newDatabase();
  const dataDir = await newDataDir();
  const settings = { DATABASE_URL: database.url };
  const first = await startServer(dataDir, settings);
  const { token: before = '' } = await readFirstRun(dataDir);
  await first.stop();
  // As a process leaves it that dies after the token is made and before the first run is written down.
  await database.query(`delete from setting where name = 'demo'`);
  await rm(path.join(dataDir, 'first-run.json'));
  const second = await startServer(dataDir, settings);
  const { token = '' } = await readFirstRun(dataDir);
  expect(token).not.toBe(before);
  expect((await restClient(second.url, before).get('/organizations/demo')).status).toBe(401);
  await expectCompleteDemo(second);
  expect(await database.query('select count(*)::integer as count from token where revoked_at is null')).toEqual([
    { count: 1 },
  ]);
});

test('the record is for its owner alone, is renewed at each start, and keeps the token', async () => {
  const dataDir = await newDataDir();
  const first = await startServer(dataDir);
  const file = path.join(dataDir, 'first-run.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  const before = await readFirstRun(dataDir);
  const shown = first.output().stdout;
  expect(shown).toContain(before.token);
  expect(before.url).toMatch(/^http:\/\/localhost:[1-9]\d+$/);
  expect(before.preview_url).toMatch(/^http:\/\/localhost:[1-9]\d+$/);
  await first.stop();

  // What a person may have done to it.
  await chmod(file, 0o644);
  await writeFile(file, JSON.stringify({ ...before, url: 'http://localhost:1', preview_url: 'http://localhost:2' }));
  const second = await startServer(dataDir);
  const after = await readFirstRun(dataDir);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(after.token).toBe(before.token);
  expect(new URL(after.url).port).toBe(new URL(second.url).port);
  expect((await fetch(after.preview_url.replace('localhost', '127.0.0.1'))).status).toBeLessThan(500);
  // Shown once: neither the log nor the greeting repeats it.
  expect(second.output().stdout).not.toContain(before.token);
  expect((await restClient(second.url, before.token ?? '').get('/organizations/demo')).status).toBe(200);
  expect(await isThere(file)).toBe(true);
});

test('starts below a directory of mode 0700', async () => {
  const dataDir = await newDataDir();
  await chmod(path.dirname(dataDir), 0o700);
  const server = await startServer(dataDir, { PORTICO_DEMO: 'off' });
  expect((await fetch(`${server.url}/readyz`)).status).toBeLessThan(504);
  expect(await readFirstRun(dataDir)).not.toHaveProperty('token');
  expect(server.output().stdout).toContain('npm run portico -- token create');
});

const setUp = (browser: Browser, url: string) =>
  browser.graphql('mutation ($input: SetupInput!) { setup(input: $input) { organization user { id } } }', {
    input: {
      secret: secretOf(url),
      name: 'Ada',
      email: 'ada@example.org',
      password: goodPassword,
      organization_name: 'Engines',
    },
  });
const grants = async (browser: Browser) =>
  (await browser.graphql('{ me { grants { organization owner } } }')).body.data.me.grants;

test('the printed link makes the first account: a later start makes a new one, and none once there is an account', async () => {
  const [dataDir, database] = [await newDataDir(), await newDatabase()];
  const start = () => startServer(dataDir, { DATABASE_URL: database.url });
  const first = await start();
  const { setup_url: former = '' } = await readFirstRun(dataDir);
  expect(former).toMatch(/^http:\/\/localhost:\d+\/setup#[\w-]{43}$/);
  expect(first.output().stdout).toContain(former);
  await first.stop();
  await database.query(`update one_time_link set created_at = created_at - interval '61 seconds'`);
  const second = await start();
  const { setup_url = '', token } = await readFirstRun(dataDir);
  const browser = openBrowser(second);
  expect((await setUp(browser, former)).body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  expect((await setUp(browser, setup_url)).body.errors).toBeUndefined();
  expect(await grants(browser)).toEqual([
    { organization: 'demo', owner: true },
    { organization: 'engines', owner: true },
  ]);
  await vi.waitFor(async () => expect((await readFirstRun(dataDir)).setup_url).toBeUndefined(), 60_000);
  expect((await stat(path.join(dataDir, 'first-run.json'))).mode & 0o777).toBe(0o600);
  await second.stop();
  const third = await start();
  expect(third.output().stdout).not.toContain('/setup#');
  expect(await readFirstRun(dataDir)).toMatchObject({ token, organization: 'demo' });
});

test('settings make the first account without a link', async () => {
  const [dataDir, database] = [await newDataDir(), await newDatabase()];
  const file = path.join(path.dirname(dataDir), 'password');
  await writeFile(file, `${goodPassword}\n`);
  const admin = { PORTICO_ADMIN_EMAIL: 'Root@example.org', PORTICO_ADMIN_PASSWORD_FILE: file };
  const server = await startServer(dataDir, { DATABASE_URL: database.url, ...admin });
  expect((await readFirstRun(dataDir)).setup_url).toBeUndefined();
  const browser = openBrowser(server);
  await browser.graphql('mutation ($input: SignInInput!) { signIn(input: $input) { user { id } } }', {
    input: { email: 'root@example.org', password: goodPassword },
  });
  expect(await grants(browser)).toEqual([{ organization: 'demo', owner: true }]);
});
