import { keyBytes, type LinkKeys, noKeys } from '../../frontier/link-keys.ts';
import type { Outlinks } from '../../frontier/outcome.ts';

/** What an unchanged page links to. Mostly its keys are all that is needed: to read the addresses costs more than all else of such a page. */
export interface KeptOutlinks {
  canonical: string | null;
  /** Links among the keys; assets come after them. */
  links: number;
  /** Of all links and assets; none where those are not as many. */
  keys: LinkKeys;
  /** Reads the addresses. */
  outlinks(): Outlinks;
}

/** What a page has that is kept with others. */
export interface PageOutlinks {
  url: string;
  outlinks: Outlinks;
  /** Of all it links to, links before assets. */
  link_keys: LinkKeys;
}

type Head = [url: string, canonical: string | null, links: number, keys: string];

/** Writes what pages link to: for each a line that is always read, and one with its addresses. */
export function writeOutlinks(pages: readonly PageOutlinks[]): string {
  const lines = pages.flatMap(({ url, outlinks, link_keys }) => {
    const { links, assets, canonical } = outlinks;
    const isEach = link_keys.length === (links.length + assets.length) * keyBytes;
    const keys = isEach ? Buffer.from(link_keys).toString('base64') : '';
    const head: Head = [url, canonical, links.length, keys];
    return [JSON.stringify(head), JSON.stringify(outlinks)];
  });
  return lines.join('\n');
}

/**
 * Reads what `writeOutlinks` wrote, by URL.
 * @throws Error when it is something else
 */
export function readOutlinks(text: string): Map<string, KeptOutlinks> {
  const lines = text.split('\n');
  const pages = new Map<string, KeptOutlinks>();
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [url, canonical, links, keys]: Head = JSON.parse(lines[at] as string);
    const whole = lines[at + 1] as string;
    pages.set(url, {
      canonical,
      links,
      keys: keys === '' ? noKeys : Buffer.from(keys, 'base64'),
      outlinks: () => JSON.parse(whole),
    });
  }
  return pages;
}
