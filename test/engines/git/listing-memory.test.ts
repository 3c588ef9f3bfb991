import { expect, it } from 'vitest';
import { ObjectCaches } from '../../../src/engines/git/objects/object-source.ts';
import { modes } from '../../../src/engines/git/objects/tree-codec.ts';

/** Listings of 20,000 files each that are kept of thirty, and the characters of all their paths. */
function keptOf(path: string) {
  const { listings } = new ObjectCaches();
  const files = Array.from({ length: 20_000 }, () => ({ path, mode: modes.file, oid: 'a'.repeat(40) }));
  for (let at = 0; at < 30; at += 1) listings.set(`site:${at}`, files);
  return { size: listings.size, characters: listings.size * files.length * path.length };
}

it('keeps listings of half a million files with paths of an ordinary length', () => {
  expect(keptOf('content/posts/a-post-of-an-ordinary-name.md').size).toBe(29);
});

it('keeps fewer where paths are long', () => {
  expect(keptOf('d'.repeat(3_000)).characters).toBeLessThanOrEqual(128 * 1024 * 1024);
});
