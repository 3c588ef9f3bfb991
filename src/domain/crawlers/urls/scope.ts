/** Which hosts a run may take from. Hosts are `name`, or `name:port` when the port is not the scheme's own. */
export interface CrawlScope {
  /** Scheme and host chosen at the start of the run. */
  origin: URL;
  /** The primary host, and its sibling when the start page redirects there. */
  hosts: readonly string[];
  /** `allowed_domains`: a host, or `*.host` for all names below it (on default ports), not itself. */
  allowed: readonly string[];
}

/** Tests whether the host of a normalised URL is in scope. */
export function scopeTest({ origin, hosts, allowed }: CrawlScope): (url: URL) => boolean {
  const exact = new Set([origin.host, ...hosts, ...allowed.filter((host) => !host.startsWith('*.'))]);
  const suffixes = allowed.filter((host) => host.startsWith('*.')).map((host) => host.slice(1));
  return ({ host }) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix) && host !== suffix.slice(1));
}
