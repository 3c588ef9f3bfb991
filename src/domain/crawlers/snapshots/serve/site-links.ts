import type { LinkMapper } from '../rewrite/link-mapper.ts';
import type { SiteAddresses } from './site-addresses.ts';

/** What the URL parser strips in front (WHATWG URL 4.4). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is stripped
const before = /^[\u0000-\u0020]+/;
/** A link that says more than a path. */
const absolute = /^(?:[\\/]{2}|[a-z][a-z0-9+.-]*:)/i;

/** Links of a served site: absolute ones to its hosts become paths of where it is served, all others stay. */
export function siteLinks(addresses: SiteAddresses): LinkMapper {
  return (link, base) => {
    const text = link.replace(before, '');
    if (text === '' || text.startsWith('#')) return null;
    if (!absolute.test(text) && !addresses.isApart(base)) return null;
    const url = URL.parse(link, base.href);
    return url && addresses.pathOf(url);
  };
}
