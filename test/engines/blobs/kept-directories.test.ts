import { mkdir, mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KeptDirectories } from '../../../src/engines/blobs/durable-file.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-directories-'));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(root, { recursive: true, force: true });
});

/** Descriptors of this process that lead into the root. */
async function open(): Promise<string[]> {
  const all = await readdir('/proc/self/fd');
  const targets = await Promise.all(all.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(root));
}

it('opens a directory once however often it is synced, and closes it when it is left alone', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const directories = new KeptDirectories();
  await Promise.all(Array.from({ length: 20 }, () => directories.sync(root)));
  await directories.sync(root);
  expect(await open()).toEqual([root]);
  vi.advanceTimersByTime(1_999);
  expect(await open()).toEqual([root]);
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  await vi.waitFor(async () => expect(await open()).toEqual([]), { timeout: 60_000 });
  await directories.sync(root);
});

it('lets requests during a sync share the next, and none the running one', async () => {
  const directories = new KeptDirectories();
  const [first, second, third] = [directories.sync(root), directories.sync(root), directories.sync(root)];
  expect(second).toBe(third);
  expect(second).not.toBe(first);
  await Promise.all([first, second]);
});

it('fails all requests for a missing directory, and tries anew the next time', async () => {
  const directories = new KeptDirectories();
  const missing = path.join(root, 'missing');
  const requested = [directories.sync(missing), directories.sync(missing)];
  for (const one of await Promise.allSettled(requested)) expect(one).toMatchObject({ reason: { code: 'ENOENT' } });
  await mkdir(missing);
  await directories.sync(missing);
});
