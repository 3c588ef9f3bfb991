import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/git-store.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** A repository with one program, which prints its arguments, and a package of its own with another. */
function smallPackage() {
  const place = temporaryDirectory();
  for (const directory of ['src', 'extra/needed']) mkdirSync(path.join(place, directory), { recursive: true });
  cpSync(path.join(root, 'scripts'), path.join(place, 'scripts'), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(place, 'node_modules'));
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2024', outDir: 'dist', rootDir: '.', types: ['node'] },
    ...{ allowImportingTsExtensions: true, rewriteRelativeImportExtensions: true },
  };
  const extra = { compilerOptions: { ...compilerOptions, rootDir: '..' }, include: ['.', '../src'] };
  const needed = { dependencies: { needed: 'file:needed' } };
  const packages = {
    '': { name: 'extra', ...needed },
    needed: {},
    'node_modules/needed': { resolved: 'needed', link: true },
  };
  const files: Record<string, string> = {
    'src/hello.ts': "console.log('hello', ...process.argv.slice(2));\n",
    'mikro-orm.config.ts': '',
    'package.json': '{"type": "module"}',
    'package-lock.json': '{}',
    'tsconfig.json': '{}',
    'tsconfig.build.json': JSON.stringify({ compilerOptions, include: ['src'] }),
    'extra/count.ts': "import '../src/hello.ts';\nconsole.log(process.argv.length);\n",
    'extra/package.json': JSON.stringify({ name: 'extra', type: 'module', ...needed }),
    'extra/package-lock.json': JSON.stringify({ name: 'extra', lockfileVersion: 3, packages }),
    'extra/needed/package.json': '{"name": "needed"}',
    'extra/tsconfig.json': JSON.stringify(extra),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(place, name), text);
  const run = (program = 'src/hello') =>
    spawnSync(process.execPath, ['scripts/run.ts', program, 'you'], { cwd: place, encoding: 'utf8' });
  return { place, run };
}

const compiling = 'Compiling dist/src, because the sources have changed …\n';

it('the script that runs a program says that it compiles, only when it does, and not where the program writes', () => {
  const { place, run } = smallPackage();
  expect(run()).toMatchObject({ status: 0, stdout: 'hello you\n', stderr: compiling });
  expect(run()).toMatchObject({ status: 0, stdout: 'hello you\n', stderr: '' });
  writeFileSync(path.join(place, 'src/hello.ts'), "console.log('again');\n");
  expect(run()).toMatchObject({ status: 0, stdout: 'again\n', stderr: compiling });
});

it('programs started at the same time are compiled once, and all of them run', async () => {
  const { place } = smallPackage();
  const start = () => promisify(execFile)(process.execPath, ['scripts/run.ts', 'src/hello', 'you'], { cwd: place });
  const ended = await Promise.all([start(), start(), start()]);
  expect(ended.map(({ stdout }) => stdout)).toEqual(Array(3).fill('hello you\n'));
  expect(ended.map(({ stderr }) => stderr).sort()).toEqual(['', '', compiling]);
});

it('the script says in one sentence that it cannot write what it compiles, and what to do', () => {
  const { place, run } = smallPackage();
  // A mode would not keep root off.
  writeFileSync(path.join(place, 'dist'), '');
  const { status, stdout, stderr } = run();
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(
    /^\S+\/dist\/src cannot be written \(\w+\), and the programs have to be compiled into it: .+\n$/,
  );
  rmSync(path.join(place, 'dist'));
  expect(run().status).toBe(0);
});

it('the script installs what a package of its own needs the first time and when its lock file changes, and says so', () => {
  const { place, run } = smallPackage();
  const compilingExtra = compiling.replace('dist/src', 'extra/dist');
  const installing = 'Installing the packages of extra/, which the server does not need …\n';
  const npm = /(?:\n|^)(?:up to date|added|audited).*\n/g;
  const quiet = () => {
    const { status, stdout, stderr } = run('extra/count');
    return { status, stdout, stderr: stderr.replaceAll(npm, '') };
  };
  expect(quiet()).toEqual({
    status: 0,
    stdout: 'hello you\n3\n',
    stderr: `${compiling}${installing}${compilingExtra}`,
  });
  expect(quiet()).toEqual({ status: 0, stdout: 'hello you\n3\n', stderr: '' });
  const lockFile = path.join(place, 'extra/package-lock.json');
  utimesSync(lockFile, new Date(), new Date());
  expect(quiet()).toMatchObject({ status: 0, stderr: `${installing}${compilingExtra}` });
  writeFileSync(lockFile, 'no JSON');
  expect(run('extra/count').status).not.toBe(0);
});
