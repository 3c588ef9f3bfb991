import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { builtProgram } from '../support/build.ts';

/** Loads a module and prints what node has loaded for it: its own modules, and files of packages that are not in the bundle. */
const listLoaded = `
import { createRequire } from 'node:module';
await import(process.argv[1]);
const files = Object.keys(createRequire(import.meta.url).cache);
process.stdout.write(JSON.stringify([...process.moduleLoadList, ...files]), () => process.exit(0));
`;

test('a start loads no client for requests that it does not send', async () => {
  const bundles = await builtProgram();
  const name = (await readdir(bundles)).find((file) => /^serve-[^.]+\.js$/.test(file)) ?? '';
  const url = pathToFileURL(path.join(bundles, name)).href;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', listLoaded, url], {
    maxBuffer: 2 ** 24,
  });
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded).toContain('NativeModule http');
  expect(loaded.filter((module) => module.includes('undici'))).toEqual([]);
});
