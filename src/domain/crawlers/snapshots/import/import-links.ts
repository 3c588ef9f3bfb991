import { normalise } from '../../urls/normalise.ts';
import type { LinkMapper } from '../rewrite/link-mapper.ts';

interface SiteFiles {
  /** Scheme and host that were crawled. */
  origin: string;
  stripParams: readonly string[];
  /** The file of a URL, over redirects of the snapshot; null when it has none. */
  fileOf(url: string): string | null;
}

const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/');

/** How one file names another, both relative to the same directory. A page in a directory is named by the directory. */
export function relativeLink(from: string, to: string): string {
  const [here, there] = [from.split('/').slice(0, -1), to.split('/')];
  let common = 0;
  while (common < here.length && common < there.length - 1 && here[common] === there[common]) common += 1;
  const rest = there.slice(common);
  if (rest.at(-1) === 'index.html') rest[rest.length - 1] = '';
  const link = '../'.repeat(here.length - common) + encodePath(rest.join('/'));
  // A name with a colon would be taken for a scheme, and nothing at all for this very document.
  return link === '' || link.startsWith('/') || /^[^/]*:/.test(link) ? `./${link}` : link;
}

/** Links of an imported document: to files beside it where they have been imported, to the site itself where not. @param path of the document */
export function importLinks({ origin, stripParams, fileOf }: SiteFiles, path: string): LinkMapper {
  const primary = new URL(origin);
  return (link, base, role) => {
    // Each link is written anew, so the document needs no other base than itself.
    if (role === 'base') return '';
    const text = link.trim();
    const url = URL.parse(text, base.href);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
    const isHere = text === '' || text.startsWith('#');
    const target = normalise(url.href, base.href, { origin: primary, stripParams });
    const file = target === null ? null : fileOf(target);
    if (isHere && file === path) return null;
    return file === null ? url.href : relativeLink(path, file) + url.hash;
  };
}
