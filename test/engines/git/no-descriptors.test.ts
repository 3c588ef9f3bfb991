import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const child = fileURLToPath(new URL('../../support/no-descriptors.child.ts', import.meta.url));

it('refuses what needs git while no file descriptor is left, and goes on afterwards', () => {
  const args = ['-c', 'ulimit -n 100 && exec "$@"', 'sh', process.execPath, child];
  expect(execFileSync('/bin/sh', args, { encoding: 'utf8' })).toBe('unavailable, exit 0');
});
