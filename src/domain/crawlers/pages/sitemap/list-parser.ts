import { SitemapError, type SitemapParser, type WrittenAddress } from './sitemap-item.ts';

/** Characters of a line that are kept; what is longer is no address. */
const maxLine = 8_192;

/** Reads a text with one address a line (sitemaps.org, "text file"). Lines that are none are left out. */
export class ListSitemapParser implements SitemapParser {
  line = 1;
  #rest = '';
  #isAny = false;

  write(text: string): WrittenAddress[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = (lines.pop() ?? '').slice(0, maxLine);
    this.line += lines.length;
    return this.#take(lines);
  }

  end(): WrittenAddress[] {
    const found = this.#take([this.#rest]);
    if (!this.#isAny) throw new SitemapError('content', 'neither XML nor a list of addresses');
    return found;
  }

  #take(lines: readonly string[]): WrittenAddress[] {
    const addresses = lines
      .map((line) => line.trim())
      .filter((line) => /^https?:\/\//i.test(line) && line.length < maxLine);
    this.#isAny ||= addresses.length > 0;
    return addresses.map((written) => ({ kind: 'page', written, lastmod: null }));
  }
}
