import { expect, it } from 'vitest';
import type { SiteIndex } from '../../../../src/domain/studio/content/site-index.ts';
import { mediaReferences } from '../../../../src/domain/studio/media/media-references.ts';
import type { Snapshot } from '../../../../src/ports/git-records.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';

/** A site of one entry. */
function siteOf(body: string) {
  const entries = [{ slug: 'a', path: 'posts/a.md', oid: '1' }];
  const site = {
    collections: new Map([['posts', { entries }]]),
    discovery: { contentRoot: '', mediaRoots: [], schemas: [] },
  } as unknown as SiteIndex;
  const tree = {
    files: async () => [],
    async *blobs() {
      yield { oid: '1', content: Buffer.from(body) };
    },
  } as unknown as Snapshot;
  return { site, tree, base: '' };
}

const files = Array.from({ length: 2_000 }, (_, at) => `media/image${at}.png`);

it('lets others have their turn while many files are looked for in one entry', async () => {
  const found: unknown[][] = [];
  const iterations = await iterationsDuring(async () => {
    found.push(...(await mediaReferences(siteOf('![](../media/image7.png)'), files)));
  });
  expect(iterations).toBeGreaterThan(50);
  expect(found[7]).toEqual([{ collection: 'posts', slug: 'a', path: 'posts/a.md' }]);
  expect(found.flat()).toHaveLength(1);
});
