/** The host of an address, taken apart. */
export interface Host {
  /** Lower case, punycode, without a final dot; an IPv6 address in brackets. */
  name: string;
  /** Null: the scheme's own. */
  port: number | null;
  is_address: boolean;
}

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443 };

/** Only what stands before a path: no path, query, fragment, user info, blank or backslash. */
const form = /^(?:(https?):\/\/)?([^/?#@\\\s]+)\/?$/i;

/**
 * Reads `host[:port]` or `http(s)://host[:port][/]`.
 * @returns null when it is neither, or no name that DNS could hold (RFC 1035 2.3.4)
 */
export function hostOf(text: string): (Host & { scheme: 'http' | 'https' | null }) | null {
  const [, scheme, rest = ''] = form.exec(text) ?? [];
  const at = rest.replace(/^\[[^\]]*\]/, '').lastIndexOf(':');
  if (rest === '' || (at !== -1 && !/:\d{1,5}$/.test(rest))) return null;
  const url = URL.parse(`${(scheme ?? 'http').toLowerCase()}://${rest}/`);
  if (!url || url.port === '0') return null;
  const name = url.hostname.replace(/\.$/, '');
  const is_address = name.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(name);
  if (!is_address && !isName(name)) return null;
  const given = /:(\d{1,5})$/.exec(rest)?.[1];
  const port = given === undefined ? null : Number(given);
  // Without a scheme either may be meant.
  const own = scheme === undefined ? [80, 443] : [defaultPorts[url.protocol]];
  return {
    name,
    port: port !== null && own.includes(port) ? null : port,
    is_address,
    scheme: scheme === undefined ? null : (scheme.toLowerCase() as 'http' | 'https'),
  };
}

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

const isName = (name: string) => name.length <= 253 && name.split('.').every((part) => label.test(part));

/** A host as it is stored and compared: `name`, or `name:port`. */
export const hostText = ({ name, port }: Pick<Host, 'name' | 'port'>): string =>
  port === null ? name : `${name}:${port}`;

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

/** Whether a URL is fetched in plain text, though what leads to it was not. */
export const isDowngrade = (from: URL, to: URL): boolean => from.protocol === 'https:' && to.protocol === 'http:';
