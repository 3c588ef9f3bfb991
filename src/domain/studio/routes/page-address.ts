import { decodePath } from './rules/paths.ts';

/** The path of an address, decoded; the origin, query and fragment go. */
export function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return decodePath(path === '' ? '/' : path).normalize('NFC');
}

/** What addresses of one page share, with a slash at the end or without, with `index.html` or `.html` or without. */
export const pageKey = (url: string): string =>
  pathOf(url)
    .replace(/\/index\.html?$/, '/')
    .replace(/\.html?$/, '')
    .replace(/\/+$/, '');
