import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);

/** Starts the database, asks it something, and starts it again on what is there. */
const program = `
const { startEmbeddedPostgres } = await import(process.env.MODULE);
const { default: pg } = await import('pg');
const log = { debug() {}, info() {}, warn() {}, error() {} };
for (let at = 0; at < 2; at += 1) {
  const server = await startEmbeddedPostgres({ dataDir: process.env.DATA, log, durable: false });
  const client = new pg.Client({ connectionString: server.url, ssl: false });
  await client.connect();
  const { rows } = await client.query('select 40 + 2 as answer');
  console.log(process.getuid(), rows[0].answer);
  await client.end();
  await server.stop();
}`;

it('the embedded database starts, and starts again, for a user id without an entry in /etc/passwd', async () => {
  expect(process.getuid?.(), 'only root can become another user').toBe(0);
  const directory = await mkdtemp(join(tmpdir(), 'portico-noname-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o777);
  // The clone may lie below a home directory that others cannot enter: in a namespace of its own it is also here.
  const clone = join(directory, 'clone');
  await mkdir(clone);
  const env = {
    PATH: process.env.PATH,
    HOME: '/',
    TMPDIR: '/tmp',
    MODULE: join(clone, 'src/db/postgres.ts'),
    DATA: join(directory, 'data'),
  };
  const user = ['--reuid', '54321', '--regid', '54321', '--clear-groups'];
  const node = [join(clone, relative(process.cwd(), process.execPath)), '--input-type=module', '-e', program];
  const mounted = 'mount --bind "$PWD" "$1" && cd "$1" && shift && exec setpriv "$@"';
  const inClone = ['--mount', 'sh', '-c', mounted, 'sh', clone];
  const { stdout } = await run('unshare', [...inClone, ...user, ...node], { env });
  expect(stdout).toBe('54321 42\n54321 42\n');
});
