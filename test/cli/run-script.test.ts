import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/git-store.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** A package with one program, which prints its arguments. */
function smallPackage() {
  const place = temporaryDirectory();
  for (const directory of ['src', 'bench', 'corpus']) mkdirSync(path.join(place, directory));
  cpSync(path.join(root, 'scripts'), path.join(place, 'scripts'), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(place, 'node_modules'));
  const compilerOptions = { module: 'nodenext', target: 'es2024', outDir: 'dist', rootDir: '.', types: ['node'] };
  const files: Record<string, string> = {
    'src/hello.ts': "console.log('hello', ...process.argv.slice(2));\n",
    'package.json': '{"type": "module"}',
    'package-lock.json': '{}',
    'tsconfig.json': '{}',
    'tsconfig.build.json': JSON.stringify({ compilerOptions, include: ['src'] }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(place, name), text);
  const run = () =>
    spawnSync(process.execPath, ['scripts/run.ts', 'src/hello', 'you'], { cwd: place, encoding: 'utf8' });
  return { place, run };
}

const compiling = 'Compiling, because the sources have changed …\n';

it('the script that runs a program says that it compiles, only when it does, and not where the program writes', () => {
  const { place, run } = smallPackage();
  expect(run()).toMatchObject({ status: 0, stdout: 'hello you\n', stderr: compiling });
  expect(run()).toMatchObject({ status: 0, stdout: 'hello you\n', stderr: '' });
  writeFileSync(path.join(place, 'src/hello.ts'), "console.log('again');\n");
  expect(run()).toMatchObject({ status: 0, stdout: 'again\n', stderr: compiling });
});

it('the script says in one sentence that it cannot write what it compiles, and what to do', () => {
  const { place, run } = smallPackage();
  // A mode would not keep root off.
  writeFileSync(path.join(place, 'dist'), '');
  const { status, stdout, stderr } = run();
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^\S+\/dist cannot be written \(\w+\), and the programs have to be compiled into it: .+\n$/);
  rmSync(path.join(place, 'dist'));
  expect(run().status).toBe(0);
});
