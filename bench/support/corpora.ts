import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Bench } from '../benchmark.ts';

const archive = /\.tar\.(?:xz|gz|bz2)$/;

/** The sites of a directory: each directory in it, and each archive, which is unpacked. */
export async function corpusIn(directory: string, bench: Bench): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const at = path.join(directory, entry.name);
    const name = entry.name.replace(archive, '');
    if (bench.only !== null && !name.includes(bench.only)) continue;
    if (entry.isDirectory()) found.set(name, at);
    if (!entry.isFile() || !archive.test(entry.name)) continue;
    const to = await bench.directory();
    await promisify(execFile)('tar', ['--extract', '--file', at, '--directory', to]);
    found.set(name, to);
  }
  return found;
}
