import { expect, test } from 'vitest';
import { goodPassword, openBrowser, secretOf } from '../support/browser.ts';
import { restClient } from '../support/rest-client.ts';
import {
  demoDataDir,
  portico,
  postmasterPid,
  settingsFor,
  startProgram,
  startServer,
} from '../support/server-process.ts';

test('organisations and tokens: made without a server, used and revoked with one', async () => {
  const { dataDir } = await demoDataDir();
  const settings = settingsFor(dataDir);
  const made = await portico(['organization', 'create', 'acme', '--name', 'Acme'], settings);
  expect(made).toMatchObject({ code: 0, stdout: 'Created organisation acme\n', stderr: '' });
  const server = await startServer(dataDir);
  const again = await portico(['organization', 'create', 'acme'], settings);
  expect(again).toMatchObject({ code: 1, stderr: 'portico: machine_name: acme is taken\n' });
  const options = ['--organization', 'acme', '--preset', 'readonly', '--expires', '30d', '--name', 'Reader'];
  const created = await portico(['token', 'create', ...options], settings);
  expect(created.stdout).toMatch(/^ptc_[0-9A-Za-z]{36}\n$/);
  expect(created.stderr).toMatch(/^Token \d+ for all of acme, expires 20\d\d-.*\. It is shown only here\.\n$/);

  const rest = restClient(server.url, created.stdout.trim());
  expect((await rest.get('/organizations/acme')).status).toBe(200);
  const listed = await portico(['token', 'list', '--organization', 'acme'], settings);
  const [, id = ''] = /^(\d+) +Reader +\w{4} +readonly +all +20/m.exec(listed.stdout) ?? [];
  const revoked = await portico(['token', 'revoke', id, '--organization', 'acme'], settings);
  expect(revoked).toMatchObject({ code: 0, stdout: 'Token revoked\n' });
  expect((await rest.get('/organizations/acme')).status).toBe(401);
});

test('a token is confined to projects and permissions, and what is not there is refused', async () => {
  const { dataDir } = await demoDataDir();
  await startServer(dataDir);
  const settings = settingsFor(dataDir);
  const create = (...args: string[]) => portico(['token', 'create', '--organization', 'demo', ...args], settings);
  const confined = await create('--project', 'site', '--permission', 'browse_studio', '--permission', 'edit_studio');
  expect(confined.stderr).toMatch(/^Token \d+ for demo\/\{site\}, expires/);
  expect((await create('--project', 'none', '--preset', 'admin')).stderr).toBe(
    'portico: projects: none is not a project of this organisation\n',
  );
  expect((await create('--permission', 'fly')).stderr).toMatch(
    /^portico: permissions\.0: must be one of browse_studio/,
  );
  const unknown = await portico(['token', 'list', '--organization', 'nobody'], settings);
  expect(unknown).toMatchObject({ code: 1, stderr: 'portico: Organisation not found\n' });
});

test('accounts: made, reset and disabled beside a running server', async () => {
  const { dataDir } = await demoDataDir();
  const server = await startServer(dataDir);
  const settings = settingsFor(dataDir);
  const added = await portico(['users', 'add', 'Ada@example.org', '--admin'], settings);
  expect(added.stdout).toMatch(/^http:\/\/localhost:\d+\/reset#[\w-]{43}\n$/);
  expect(added.stderr).toMatch(/^Account \d+ for ada@example\.org\. The link works once, until 20/);
  expect(await portico(['users', 'add', 'ada@example.org'], settings)).toMatchObject({
    code: 1,
    stderr: 'portico: email: ada@example.org has an account already\n',
  });
  const browser = openBrowser(server);
  const reset = (secret: string, password: string) =>
    browser.graphql('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }', {
      input: { secret, password },
    });
  expect((await reset(secretOf(added.stdout.trim()), goodPassword)).body.errors).toBeUndefined();
  expect((await portico(['users', 'list'], settings)).stdout).toMatch(/^\d+ +ada@example\.org +Ada +yes *$/m);
  const again = await portico(['users', 'reset', 'ada@example.org'], settings);
  expect((await reset(secretOf(again.stdout.trim()), goodPassword)).body.errors).toBeUndefined();
  await portico(['users', 'disable', 'ada@example.org'], settings);
  expect((await browser.graphql('{ me { id } }')).status).toBe(401);
  await portico(['users', 'enable', 'ada@example.org'], settings);
  expect((await portico(['users', 'reset', 'nobody@example.org'], settings)).stderr).toMatch(
    /^portico: No account has the e-mail nobody@example\.org; portico users list shows those there are\n/,
  );
});

test('a command whose reader leaves stops the database it started', async () => {
  const { dataDir } = await demoDataDir();
  const running = await startProgram('portico', ['keys', 'status'], settingsFor(dataDir));
  running.child.stdout?.destroy();
  expect((await running.ended).code).toBe(0);
  expect(await postmasterPid(dataDir)).toBeNull();
});

test('keys: a rotation makes a new active key', async () => {
  const settings = settingsFor((await demoDataDir()).dataDir);
  const before = await portico(['keys', 'status'], settings);
  const [, first = ''] = /^(kek-\w+) +active +20/m.exec(before.stdout) ?? [];
  const rotated = await portico(['keys', 'rotate'], settings);
  const [, second = ''] = /^Active key: (kek-\w+)\./.exec(rotated.stdout) ?? [];
  expect(rotated).toMatchObject({ code: 0, stderr: '' });
  const after = (await portico(['keys', 'status'], settings)).stdout;
  expect(after).toMatch(new RegExp(`^${first} +inactive .* 0$`, 'm'));
  expect(after).toMatch(new RegExp(`^${second} +active .* 0$`, 'm'));
});
