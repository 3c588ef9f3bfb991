import { normalise } from '../urls/normalise.ts';
import type { SnapshotOrigins } from './snapshot.entity.ts';

/** Where hosts lie that do not share the tree of the primary one. */
const hostsFolder = '/_hosts/';

/** Characters of a path and query that may be looked for: a crawl takes no URL of more than 2,048. */
const longestBelow = 8_192;

/** How addresses of a captured site and paths of where it is served stand to each other. */
export interface SiteAddresses {
  /**
   * The path, query and fragment under which a URL of the site is served; null for one of a host that the snapshot does not have.
   * Never begins with two slashes, which would name a host.
   */
  pathOf(url: URL): string | null;
  /** The URLs a path and query may stand for, normalised, in order of precedence. @param target as in a request line, beginning with a slash */
  urlsOf(target: string, stripParams: readonly string[]): string[];
  /** Whether root-relative links in a document of this URL would lead elsewhere. */
  isApart(url: URL): boolean;
  /** Tells apart sites that are served differently. */
  key: string;
}

const hostOf = (origin: string) => origin.slice(origin.indexOf('//') + 2);

/** `//name` would be taken for a host; a dot segment keeps both slashes and is resolved away. */
const asPath = (path: string) => (path.startsWith('//') ? `/.${path}` : path);

/** Addresses of a snapshot's site. @param origin the primary scheme and host */
export function siteAddresses(origin: string, { tree, others }: Omit<SnapshotOrigins, 'home'>): SiteAddresses {
  const shared = new Set([hostOf(origin), ...tree.map(hostOf)]);
  const apart = new Set(others.map(hostOf));
  const isApart = ({ host }: URL) => !shared.has(host) && apart.has(host);
  const treeOrigins = tree.includes(origin) ? tree : [origin, ...tree];
  const primary = new URL(origin);
  /** An origin as it stands in normalised URLs; nothing for one that cannot. */
  const written = (each: string) =>
    normalise(`${each}/`, each, { origin: primary, stripParams: [] })?.slice(0, -1) ?? [];
  let starts: readonly string[] | undefined;
  return {
    isApart,
    key: JSON.stringify([[...shared], [...apart]]),
    pathOf(url) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
      const rest = url.pathname + url.search + url.hash;
      if (shared.has(url.host)) return asPath(rest);
      return isApart(url) ? hostsFolder + url.host + rest : null;
    },
    urlsOf(target, stripParams) {
      // Dot segments are not resolved against a host that a path of two slashes would name.
      const path = target.replace(/^\/\.(?=\/\/)/, '');
      starts ??= treeOrigins.flatMap(written);
      // Normalised once: hosts that share a tree may be thousands.
      const at = (from: readonly string[], rest: string) => {
        const url = normalise(primary.origin + rest, primary, { stripParams });
        const below = url?.slice(primary.origin.length) ?? '';
        return url === null || below.length > longestBelow ? [] : from.map((each) => each + below);
      };
      const found = at(starts, path);
      if (!path.startsWith(hostsFolder)) return found;
      const slash = path.indexOf('/', hostsFolder.length);
      const host = slash < 0 ? '' : path.slice(hostsFolder.length, slash);
      const named = others.filter((each) => hostOf(each) === host);
      return [...found, ...at(named.flatMap(written), path.slice(slash))];
    },
  };
}
