/** What builds need of the machine is looked for as their user, and what is missing is named, piece by piece, in one sentence. */
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { firstUser } from '../../../src/engines/deployer/build-users.ts';
import { createDeployer } from '../../../src/engines/deployer/deployer.ts';
import type { SandboxKind } from '../../../src/engines/deployer/sandbox.ts';
import { programFor } from '../../../src/engines/deployer/sandbox.ts';

const isRoot = process.getuid?.() === 0;
const given = process.env.PATH ?? '';
let root: string;
let closed: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-isolation-'));
  await chmod(root, 0o711);
  closed = path.join(root, 'closed');
  await mkdir(closed, { mode: 0o700 });
  // What the server itself starts to prepare builds.
  for (const name of ['chmod', 'chown', 'cp', 'du', 'sh']) await symlink(`/bin/${name}`, path.join(closed, name));
});
afterEach(async () => {
  process.env.PATH = given;
  await rm(root, { recursive: true, force: true });
});

const isolation = (strict: boolean, kinds: readonly SandboxKind[]) =>
  createDeployer({ directory: path.join(root, 'builds'), dataDirectory: '/nowhere', strict, kinds }).isolation();

it.runIf(isRoot)('starts the first program on the PATH that the user of a build can start', async () => {
  for (const name of ['setpriv', 'bwrap']) await copyFile('/bin/false', path.join(closed, name));
  const open = path.join(root, 'open');
  await mkdir(open, { mode: 0o755 });
  await chmod(open, 0o755);
  await symlink(path.join(closed, 'bwrap'), path.join(open, 'bwrap'));
  await mkdir(path.join(open, 'setpriv'));
  process.env.PATH = `${closed}:${open}:/usr/bin:/bin`;
  const { file } = await programFor('setpriv', firstUser);
  expect(file).toMatch(/^\/(usr\/)?bin\/setpriv$/);
  expect((await programFor('bwrap', firstUser)).file ?? '/usr/bin/bwrap').toMatch(/^\/(usr\/)?bin\/bwrap$/);
  expect((await programFor('bwrap', null)).file).toBe(path.join(closed, 'bwrap'));
  expect(await isolation(false, ['plain'])).toMatchObject({ level: 'user' });
});

it.runIf(isRoot)('names a program that the user of a build cannot start, and what to do', async () => {
  await copyFile('/bin/true', path.join(closed, 'bwrap'));
  process.env.PATH = closed;
  const refused = `user \\d+, as builds have one, cannot start ${closed}/bwrap: install bubblewrap where every user can start it, such as in /usr/bin`;
  expect(await isolation(false, ['bubblewrap'])).toEqual({ refused: expect.stringMatching(refused) });
  process.env.PATH = `${closed}:/usr/bin:/bin`;
  expect(await isolation(false, ['plain'])).toMatchObject({ level: 'user' });
});

it('says with strict isolation which pieces are missing, in one sentence', async () => {
  const pieces = 'bubblewrap is not installed: install bubblewrap; unshare is not installed: install util-linux';
  process.env.PATH = closed;
  const own =
    'PORTICO_BUILD_ISOLATION=strict, and this machine can only run builds as the user of the server: the server is not root, so builds run as its own user and can reach what that user can; ';
  if (isRoot) {
    const expected = `Builds are refused: the server runs as root, which never builds as itself, and ${pieces}; or start the server as another user`;
    expect(await isolation(true, ['bubblewrap', 'namespace'])).toEqual({ refused: expected });
    return;
  }
  const remedy = '; or start the server as root, with PORTICO_BUILD_DIR where other users can enter';
  expect(await isolation(true, ['bubblewrap', 'namespace', 'plain'])).toEqual({ refused: `${own}${pieces}${remedy}` });
  expect(await isolation(false, ['bubblewrap', 'namespace', 'plain'])).toMatchObject({ level: 'process' });
});
