import { expect, it } from 'vitest';
import { isStorageFull } from '../../../src/engines/git/transfer/upstream-failure.ts';

it('distinguishes a full local disk from one of the other side', () => {
  expect(isStorageFull('fatal: write error: No space left on device\nfatal: index-pack failed\n')).toBe(true);
  expect(isStorageFull('remote: fatal: write error: No space left on device\nfatal: early EOF\n')).toBe(false);
});
