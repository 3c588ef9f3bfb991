import type { Config } from '../git-child.ts';

/** Old faults of real repositories that harm nobody; every other error of `git fsck` refuses the objects. */
const harmless = [
  'zeroPaddedFilemode',
  'badTimezone',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingNameBeforeEmail',
  'multipleAuthors',
  'zeroPaddedDate',
];

/** git's settings that pass over those faults: for `fetch.fsck`, `receive.fsck` or `fsck` itself. */
export function harmlessFaults(prefix: string): Config {
  return harmless.map((fault) => [`${prefix}.${fault}`, 'ignore'] as const);
}

/** Checks every object that comes in, by `fetch` or by a push (`receive`); packs are kept whole, so that they are synced as one. */
export function incomingObjects(side: 'fetch' | 'receive'): Config {
  return [[`${side}.fsckObjects`, 'true'], [`${side}.unpackLimit`, '1'], ...harmlessFaults(`${side}.fsck`)];
}
