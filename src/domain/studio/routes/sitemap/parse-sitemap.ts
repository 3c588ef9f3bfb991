/** What one file of a sitemap lists. */
export interface SitemapFile {
  /** `index`: the addresses are those of further files. */
  kind: 'index' | 'urls';
  locations: string[];
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decode(text: string): string {
  const plain = text.replace(/^\s*<!\[CDATA\[([\s\S]*?)\]\]>\s*$/, '$1').trim();
  return plain.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name) return entities[String(name).toLowerCase()] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Reads the `<loc>` elements of a sitemap, at most `limit`; in one pass, whatever the text holds. */
export function parseSitemap(text: string, limit: number): SitemapFile {
  const kind = /<sitemapindex[\s>]/.test(text.slice(0, 4096)) ? 'index' : 'urls';
  const locations: string[] = [];
  let at = text.indexOf('<loc>');
  while (at !== -1 && locations.length < limit) {
    const end = text.indexOf('</loc>', at);
    if (end === -1) break;
    if (end - at < 4096) locations.push(decode(text.slice(at + '<loc>'.length, end)));
    at = text.indexOf('<loc>', end);
  }
  return { kind, locations };
}
