import type { SiteIndex } from '../content/site-index.ts';
import type { MediaRoot } from '../schema/media-root.ts';

const within = (root: string, path: string) => root === '' || path === root || path.startsWith(`${root}/`);

/** The media root a path lies in: the deepest one; null outside all. */
export function mediaRootOf(site: SiteIndex, path: string): MediaRoot | null {
  const roots = site.discovery.mediaRoots.filter((root) => within(root.path, path));
  return roots.sort((a, b) => b.path.length - a.path.length)[0] ?? null;
}

/** URL path under which the site publishes a file of a media root; undefined when the framework decides per use. */
export function publicPath(root: MediaRoot | null, path: string): string | undefined {
  if (!root || root.public_path === null) return undefined;
  const rest = root.path === '' ? path : path.slice(root.path.length + 1);
  return `${root.public_path.replace(/\/$/, '')}/${rest.split('/').map(encodeURIComponent).join('/')}`;
}
