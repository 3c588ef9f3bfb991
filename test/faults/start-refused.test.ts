import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { makeDemoWebhook } from '../support/demo-webhook.ts';
import {
  demoDataDir,
  newDataDir,
  postmasterPid,
  settingsFor,
  startProgram,
  startServer,
} from '../support/server-process.ts';

/** Starts a server that must not come up. @returns what it wrote on standard error */
async function refusal(dataDir: string, more: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await (await startProgram('main', [], settingsFor(dataDir, more))).ended;
  expect(code).toBe(1);
  // A sentence of one line, no stack.
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).not.toMatch(/\bat .*:\d+:\d+/);
  return stderr;
}

const others = { id: /kek-[0-9a-f]+/g, material: /("material": ")(.)(.)/ };

test('a damaged keyring is said to be damaged, with its path and what to do, and is never replaced', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  await makeDemoWebhook(server, token);
  await server.stop();
  const keyring = path.join(dataDir, 'keys/keyring.json');
  const text = await readFile(keyring, 'utf8');
  const { material } = JSON.parse(text).keys[0] as { material: string };
  const otherFirst = material.startsWith('A') ? 'B' : 'A';

  const remedy =
    /: restore it from its backup, or, to give up the stored secrets, move it away and set PORTICO_KMS_ALLOW_MISSING=1\n$/;
  const damages: [contents: string | Buffer, named: string][] = [
    ['', 'empty'],
    [text.slice(0, text.length / 2), 'not valid JSON'],
    [Buffer.alloc(text.length), 'not valid JSON'],
    ['[]', 'file: '],
    [text.replace(material, material.slice(1)), 'keys.0.material: must be 32 bytes in base64url'],
    [text.replace('"version": 1', '"version": 2'), 'version: '],
  ];
  for (const [contents, named] of damages) {
    await writeFile(keyring, contents);
    for (const more of contents === '' ? [{}, { PORTICO_KMS_ALLOW_MISSING: '1' }] : [{}]) {
      const said = await refusal(dataDir, more);
      expect(said).toContain(`the keyring ${keyring} is damaged (${named}`);
      expect(said).toMatch(remedy);
    }
    expect(await readFile(keyring)).toEqual(Buffer.from(contents));
  }

  // Keys in the right form that are not the right ones.
  const wrong = text.replace(material, otherFirst + material.slice(1));
  await writeFile(keyring, wrong);
  expect(await refusal(dataDir)).toMatch(
    /^Stored secrets do not open with kek-\w+ of \S+keyring\.json, which is damaged or belongs to another installation\. Restore it from its backup, or set PORTICO_KMS_ALLOW_MISSING=1/,
  );
  expect(await readFile(keyring, 'utf8')).toBe(wrong);
  await writeFile(keyring, text.replace(others.id, 'kek-0000000000000000'));
  expect(await refusal(dataDir)).toMatch(
    /^Stored secrets need keys that are not in \S+keyring\.json: kek-\w+\. Restore/,
  );

  // None is made in the place of one that is missing: it would look like the right one.
  await rm(keyring);
  expect(await refusal(dataDir)).toMatch(
    /^Stored secrets need keys that are not in \S+keyring\.json: kek-\w+\. Restore/,
  );
  expect(await readdir(path.dirname(keyring))).toEqual([]);

  await mkdir(keyring, { mode: 0o700 });
  expect(await refusal(dataDir)).toContain(`the keyring ${keyring} is damaged (not a file): restore it`);
  expect((await stat(keyring)).isDirectory()).toBe(true);
  await rm(keyring, { recursive: true });
  await symlink('/nonexistent', keyring);
  expect(await refusal(dataDir)).toContain(`the keyring ${keyring} cannot be opened (ELOOP); restore it`);

  await rm(keyring);
  await writeFile(keyring, text, { mode: 0o600 });
  expect(await postmasterPid(dataDir)).toBeNull();
  const again = await startServer(dataDir);
  expect((await again.stop()).code).toBe(0);
});

test('a data directory that cannot be made or written is a sentence that names it', async () => {
  // Where not even root may make a directory.
  const place = '/sys/portico';
  for (const more of [{}, { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/x' }])
    expect(await refusal(place, more)).toMatch(
      /^The data directory \/sys\/portico (cannot be used|is on a read-only file system).*, or set PORTICO_DATA_DIR to another directory\.\n$/,
    );
  const file = path.join(await newDataDir(), 'file');
  await mkdir(path.dirname(file));
  await writeFile(file, '');
  expect(await refusal(file)).toBe(`PORTICO_DATA_DIR: ${file} is not a directory\n`);
});

const withDatabase = (change: (url: URL) => void): string => {
  const url = new URL(inject('databaseUrl'));
  change(url);
  return url.href;
};

/** A server on loopback with the given handler of connections. */
async function listener(accept: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    accept(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://portico:secret@127.0.0.1:${(server.address() as AddressInfo).port}/portico`;
}

test('a DATABASE_URL that is wrong is a sentence that says what of it is', async () => {
  const dataDir = await newDataDir();
  const said = (url: string) => refusal(dataDir, { DATABASE_URL: url });
  const refuses = 'The database refuses the user of DATABASE_URL: ';
  const failed = 'password authentication failed for user';
  expect(await said(withDatabase((url) => Object.assign(url, { password: 'wrong' })))).toContain(refuses + failed);
  expect(await said(withDatabase((url) => Object.assign(url, { username: 'nobody' })))).toContain(refuses + failed);
  const name = 'portico_test_none_such';
  expect(await said(withDatabase((url) => Object.assign(url, { pathname: `/${name}` })))).toBe(
    `The database refuses the connection: database "${name}" does not exist. Create it, or correct the name in DATABASE_URL.\n`,
  );
  const client = new pg.Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
  await client.end();
  expect(rowCount).toBe(0);
  const unreachable = (reason: string) => `The database cannot be reached (${reason}); see DATABASE_URL\n`;
  expect(await said('postgres://a:b@127.0.0.1:1/x')).toBe(unreachable('ECONNREFUSED'));
  expect(await said('postgres://a:b@no-such.invalid/x')).toMatch(
    /^The database cannot be reached \((ENOTFOUND|EAI_AGAIN)\)/,
  );
  expect(await said(await listener((socket) => socket.destroy()))).toMatch(
    /^The database cannot be reached \(.*\); see DATABASE_URL\n$/,
  );
  expect(await said('mysql://a:b@127.0.0.1/x')).toBe('DATABASE_URL: must be a postgres:// URL\n');
  expect(await said(await listener(() => {}))).toMatch(
    /^The database cannot be reached \(.*timeout.*\); see DATABASE_URL\n$/,
  );
});
