import { readDocument } from '../../../../src/domain/crawlers/pages/read-document.ts';
import type { PageFacts } from '../../../../src/ports/page-facts.ts';
import type { PageToRead } from '../../../../src/ports/page-reader.ts';

export const home = 'https://example.com/docs/page';

/** Reads a text or bytes as a page, or as what `page` says. */
export const read = (content: string | Uint8Array, page: Partial<PageToRead> = {}): PageFacts =>
  readDocument({
    bytes: typeof content === 'string' ? Buffer.from(content) : content,
    url: home,
    contentType: 'text/html; charset=utf-8',
    kind: 'html',
    parserOn: true,
    stripParams: [],
    ...page,
  });

const short = (url: string) => url.replace('https://example.com', '');
/** `relation path` of each address, without the host of the page. */
export const pairs = (found: PageFacts['links']) => found.map(({ url, relation }) => `${relation} ${short(url)}`);
export const links = (content: string | Uint8Array, page?: Partial<PageToRead>) => pairs(read(content, page).links);
export const assets = (content: string | Uint8Array, page?: Partial<PageToRead>) => pairs(read(content, page).assets);
