import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeRuntime } from '../../../src/engines/deployer/runtime.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const user = isRoot ? 61_184 : null;
/** As a build may have it: of another user where there can be one, and none of this process's environment. */
const asBuild = (PATH: string) => ({
  env: { PATH, HOME: '/' },
  cwd: '/',
  ...(user !== null && { uid: user, gid: user }),
});
let root: string;

beforeAll(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'portico-runtime-')));
  await chmod(root, 0o711);
});
afterAll(() => rm(root, { recursive: true, force: true }));

it('brings Node and npm within reach of builds where they lie out of it', async () => {
  // As when all that is installed lies below a home directory.
  const runtime = await makeRuntime(root, { user, hidden: ['/'] });
  const at = path.join(runtime.directory, 'bin');
  expect(await readdir(at)).toEqual(expect.arrayContaining(['node', 'npm', 'npx']));
  expect(runtime.launcher[0]).toBe(path.join(at, 'node'));
  expect(runtime.path.split(':')[0]).toBe(at);
  expect((await run('node', ['--version'], asBuild(at))).stdout.trim()).toBe(process.version);
  expect((await run('npm', ['--version'], asBuild(`${at}:/usr/bin:/bin`))).stdout).toMatch(/^\d+\.\d+/);
});

it('is made once, and stays while it is used', async () => {
  const first = await makeRuntime(root, { user, hidden: ['/'] });
  const { ctimeMs } = await stat(path.join(first.directory, 'launch.mjs'));
  const again = await Promise.all([1, 2, 3].map(() => makeRuntime(root, { user, hidden: ['/'] })));
  for (const one of again) expect(one).toEqual(first);
  expect((await stat(path.join(first.directory, 'launch.mjs'))).ctimeMs).toBe(ctimeMs);
  expect(await readdir(path.join(root, 'runtime'))).toEqual([path.basename(first.directory)]);
});

it.runIf(isRoot)('lets a server build whose Node lies below a directory of mode 0700', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'portico-home-'));
  await mkdir(path.join(home, 'bin'));
  const node = path.join(home, 'bin/node');
  await copyFile(process.execPath, node);
  await chmod(node, 0o755);
  const builds = path.join(root, 'builds');
  const engine = path.resolve(import.meta.dirname, '../../../src/engines/deployer/deployer.ts');
  const script = `const { createDeployer } = await import(${JSON.stringify(engine)});
for (const kind of ['namespace', 'plain']) {
  const deployer = createDeployer({ directory: ${JSON.stringify(builds)}, dataDirectory: '/nowhere', strict: false, kinds: [kind] });
  const found = await deployer.isolation();
  if ('refused' in found) { console.log(kind, found.refused); continue; }
  const workspace = await deployer.open({ deployment: 1, project: '0193f3a0-0000-7000-8000-00000000000b' });
  let output = '';
  const end = await workspace.run({
    text: 'node -p "process.getuid() > 0"; npm --version > /dev/null && echo npm', directory: '', variables: {}, network: true, time: 60_000,
    signal: new AbortController().signal, onOutput: (chunk) => { output += chunk; }, onStart: async () => {},
  });
  console.log(kind, found.level, end.exit_code, JSON.stringify(output));
  await workspace.remove();
  await deployer.close();
}`;
  const { stdout } = await run(node, ['--input-type=module', '-e', script], {
    env: { PATH: process.env.PATH },
    cwd: '/',
  });
  await rm(home, { recursive: true });
  const lines = stdout.trim().split('\n');
  expect(lines.at(-1)).toBe('plain user 0 "true\\nnpm\\n"');
  // Where there can be no namespaces it says so.
  expect(lines[0]).toMatch(/^namespace (user 0 "true\\nnpm\\n"|Builds are refused: .* unshare )/);
  expect(await readdir(root)).not.toContain('builds');
});
