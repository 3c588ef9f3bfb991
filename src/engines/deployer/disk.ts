/** What a build has written, as du(1) counts it: bytes on the disk, and files. */
import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fixedEnvironment } from './sandbox.ts';

export interface DiskUse {
  bytes: number;
  files: number;
}

/** Paths that one call is given at most. */
const atOnce = 500;

/** What du(1) says in total; complaints are dropped: files come and go meanwhile. */
async function total(options: readonly string[], paths: readonly string[]): Promise<number | null> {
  const child = spawn('du', [...options, '--', ...paths], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: fixedEnvironment,
  });
  const failed = new Promise<null>((resolve) => child.once('error', () => resolve(null)));
  const output = await Promise.race([text(child.stdout), failed]);
  const last = /(\d+)\t[^\t]*$/.exec(output?.trimEnd() ?? '')?.[1];
  return last === undefined ? null : Number(last);
}

/** @returns what lies at these paths, each file once; a number that cannot be had is 0 (not every du counts files) */
export async function diskUse(paths: readonly string[]): Promise<DiskUse> {
  const sum = { bytes: 0, files: 0 };
  for (let from = 0; from < paths.length; from += atOnce) {
    const some = paths.slice(from, from + atOnce);
    sum.bytes += ((await total(['-skxc'], some)) ?? 0) * 1024;
    sum.files += (await total(['--inodes', '-sxc'], some)) ?? 0;
  }
  return sum;
}

/** What a file system has left. */
export const freeAt = (directory: string): Promise<DiskUse> =>
  statfs(directory).then(
    ({ bavail, bsize, ffree }) => ({ bytes: bavail * bsize, files: ffree }),
    () => ({ bytes: 0, files: 0 }),
  );
