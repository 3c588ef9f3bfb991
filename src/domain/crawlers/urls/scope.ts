/** Which hosts a run may take from. Hosts are `name`, or `name:port` when the port is not the scheme's own. */
export interface CrawlScope {
  /** Scheme and host chosen at the start of the run. */
  origin: URL;
  /** The primary host, and its sibling when the start page redirects there. */
  hosts: readonly string[];
  /** `allowed_domains`: a host, or `*.host` for all names below it (on default ports), not itself. */
  allowed: readonly string[];
}

/**
 * The other one of a name and its `www.` name, as a host of the same port.
 * @param host `name` or `name:port`, lower case
 * @returns null for addresses and names of one label
 */
export function siblingOf(host: string): string | null {
  const name = host.replace(/:\d+$/, '');
  if (name.startsWith('[') || /^[\d.]+$/.test(name) || !name.includes('.')) return null;
  return host.startsWith('www.') ? host.slice('www.'.length) : `www.${host}`;
}

/** Tests whether the host of a normalised URL is in scope. */
export function scopeTest({ origin, hosts, allowed }: CrawlScope): (url: URL) => boolean {
  const exact = new Set([origin.host, ...hosts, ...allowed.filter((host) => !host.startsWith('*.'))]);
  const suffixes = allowed.filter((host) => host.startsWith('*.')).map((host) => host.slice(1));
  return ({ host }) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix) && host !== suffix.slice(1));
}
