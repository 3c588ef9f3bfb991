import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'vitest';

/** Mounting needs root, and a container may forbid it even then. */
function canMount(): boolean {
  const directory = mkdtempSync(path.join(tmpdir(), 'portico-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory], { stdio: 'ignore' });
    execFileSync('umount', [directory]);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(directory);
  }
}

/** A test that mounts disks. Where nothing can be mounted it is reported as skipped, by its name. */
export const asRoot = test.runIf(canMount());

const mounted: string[] = [];

/** Puts a disk of a few mebibytes at a directory. */
export async function smallDisk(directory: string, mebibytes = 8, mode = '711'): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o711 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=${mode}`, 'tmpfs', directory]);
  mounted.push(directory);
}

/** Makes a disk read-only, or writable again. */
export function remount(directory: string, option: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${option}`, directory]);
}

/** Takes the disks away; directories that a store of blobs keeps open go when it closes them. */
export function removeDisks(): void {
  for (const directory of mounted.splice(0)) execFileSync('umount', ['--lazy', directory]);
}
