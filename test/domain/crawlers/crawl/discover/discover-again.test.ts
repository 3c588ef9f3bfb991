import { expect, it } from 'vitest';
import {
  type Discovery,
  discover,
  discoverAgain,
  type Led,
  QueryTraps,
  SeenUrls,
} from '../../../../../src/domain/crawlers/crawl/discover.ts';
import { readOutlinks, writeOutlinks } from '../../../../../src/domain/crawlers/crawl/fetch/outlinks.ts';
import type { RunSite } from '../../../../../src/domain/crawlers/crawl/open/run-site.ts';
import type { LeasedUrl } from '../../../../../src/domain/crawlers/frontier/lease.ts';
import type { Outlinks } from '../../../../../src/domain/crawlers/frontier/outcome.ts';
import fc from '../../../../support/properties.ts';

const discovery = (): Discovery => ({
  site: { skips: async () => null } as unknown as RunSite,
  seen: new SeenUrls(),
  traps: new QueryTraps(),
  depth: Number.MAX_SAFE_INTEGER,
  say: () => {},
});

/** A page at a depth, and whether its links are followed in the first run and in the second. */
interface Page {
  url: string;
  depth: number;
  follows: [boolean, boolean];
  outlinks: Outlinks;
}

const address = fc.nat(12).map((at) => `https://site.test/${at}\n"é`);
const addresses = fc.uniqueArray(address, { maxLength: 8 });
const paired = addresses.map((urls) => urls.map((url): [string, string] => [url, 'a']));
const page: fc.Arbitrary<Page> = fc.record({
  url: address,
  depth: fc.nat(3),
  follows: fc.tuple(fc.boolean(), fc.boolean()),
  outlinks: fc.record({ links: paired, assets: paired, canonical: fc.option(address) }),
});

const claimed = ({ url, depth, follows }: Page, run: 0 | 1, id: number) =>
  ({ id, url, depth, follows: follows[run], kind: 'page', level: 0 }) as LeasedUrl;

const inWords = ({ drafts, link_keys }: Led) => ({ drafts, keys: Buffer.from(link_keys).toString('hex') });

it('leads an unchanged page where its document would', async () => {
  const pages = fc.uniqueArray(page, { selector: ({ url }) => url, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(pages, async (all) => {
      const [first, whole, again] = [discovery(), discovery(), discovery()];
      const led: Led[] = [];
      for (const [id, of] of all.entries()) led.push(await discover(first, claimed(of, 0, id), of.outlinks));
      const kept = readOutlinks(
        writeOutlinks(all.map(({ url, outlinks }, id) => ({ url, outlinks, link_keys: (led[id] as Led).link_keys }))),
      );
      for (const [id, of] of all.entries()) {
        const known = kept.get(of.url);
        if (!known) throw new Error('a page is not kept');
        expect(known.canonical).toBe(of.outlinks.canonical);
        const expected = await discover(whole, claimed(of, 1, id), of.outlinks);
        expect(inWords(await discoverAgain(again, claimed(of, 1, id), known))).toEqual(inWords(expected));
      }
    }),
  );
});

it('takes what is something else for nothing', () => {
  expect(readOutlinks('{"https://site.test/":{"links":[],"assets":[],"canonical":null}}').size).toBe(0);
  expect(() => readOutlinks('no\nJSON')).toThrow();
});
