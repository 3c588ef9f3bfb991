import path from 'node:path';
import type { SiteIndex } from '../content/site-index.ts';
import { mediaExtensions } from './media-types.ts';

/** What could be the path or URL of a file in a text: in Markdown, HTML or a value of the frontmatter. */
const token = new RegExp(`[^\\s"'\`()<>\\[\\]{}|,;]+\\.(?:${mediaExtensions.join('|')})(?![\\w-])`, 'gi');

function decoded(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/** The paths in the repository that a text in an entry may mean: as a URL of the site, from the entry, from the root, or by an alias. */
function* meanings({ discovery }: SiteIndex, entry: string, text: string): Generator<string> {
  const { mediaRoots, contentRoot } = discovery;
  const rest = text.replace(/^(?:\/|[~@]\/)/, '');
  if (text.startsWith('/')) {
    for (const root of mediaRoots) {
      const base = root.public_path?.replace(/^\/|\/$/g, '') ?? null;
      if (base === '') yield path.posix.join(root.path, rest);
      else if (base !== null && rest.startsWith(`${base}/`)) yield path.posix.join(root.path, rest.slice(base.length));
    }
  } else if (/^[~@]\//.test(text)) yield path.posix.join(contentRoot, 'src', rest);
  else yield path.posix.join(path.posix.dirname(entry), text);
  yield path.posix.join(rest);
}

/** Paths of the files that an entry's text names, in the order it does. @param isFile whether a file is at a path */
export function mentionedMedia(
  site: SiteIndex,
  entry: string,
  text: string,
  isFile: (path: string) => boolean,
): string[] {
  const found = new Set<string>();
  for (const [written] of text.matchAll(token)) {
    for (const form of new Set([written, decoded(written)])) {
      const meant = [...meanings(site, entry, form)].find((candidate) => isFile(candidate));
      if (meant !== undefined) found.add(meant);
    }
  }
  return [...found];
}
