import type { Config } from './git-child.ts';

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

/** Checks every object that comes in, by `fetch` or by a push (`receive`); packs are kept whole, so that they are synced as one. */
export function incomingObjects(side: 'fetch' | 'receive'): Config {
  return [
    [`${side}.fsckObjects`, 'true'],
    [`${side}.unpackLimit`, '1'],
    ...harmless.map((fault) => [`${side}.fsck.${fault}`, 'ignore'] as const),
  ];
}
