import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { madeOfFile } from '../../lib/version-cache.ts';
import type { HttpPolicy } from '../../ports/http.ts';
import { httpFailure } from './failures.ts';

type Address = ReturnType<typeof ipaddr.parse>;

/** A range of addresses: its first address and prefix length. */
type Cidr = [Address, number];

/**
 * Parses ranges such as `10.0.0.0/8`, `fd00::/8` or a single address.
 * @throws Error naming the entry that is none.
 */
export function parseCidrs(entries: readonly string[]): Cidr[] {
  return entries.map((entry) => {
    try {
      if (entry.includes('/')) return ipaddr.parseCIDR(entry);
      const address = ipaddr.process(entry);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    } catch (cause) {
      throw new Error(`"${entry}" is not an address range such as 10.0.0.0/8`, { cause });
    }
  });
}

/** Globally assigned IPv6 space (IANA, RFC 4291 section 2.4); ipaddr.js calls the rest of the space unicast as well. */
const globalUnicast = parseCidrs(['2000::/3']);

/**
 * Addresses at which a cloud gives its machines their settings, and which count as public: Azure's (WireServer). All others are link-local, of a
 * private range, or in another special block, such as 169.254.169.254, 100.100.100.200, 192.0.0.192 and fd00:ec2::254.
 */
const metadata = parseCidrs(['168.63.129.16']);

/**
 * The range of an address: `unicast` for one on the public internet, otherwise the name of its special range (`private`,
 * `loopback`, `linkLocal`, `6to4`, `teredo`, `metadata`, …). An IPv4-mapped address (`::ffff:127.0.0.1`) counts as the IPv4 address in it; a
 * scoped one (`fe80::1%eth0`, RFC 4007) is `scoped`, since what it reaches depends on the machine; not an address: `invalid`.
 */
export function rangeOf(address: string): string {
  if (address.includes('%')) return 'scoped';
  if (!ipaddr.isValid(address)) return 'invalid';
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  // `::127.0.0.1` and unassigned blocks have no name in ipaddr.js.
  if (range === 'unicast' && parsed.kind() === 'ipv6' && !isInside(address, globalUnicast)) return 'reserved';
  return isInside(address, metadata) ? 'metadata' : range;
}

/** Whether an address, IPv4-mapped ones as IPv4, is in one of the ranges. */
export function isInside(address: string, cidrs: readonly Cidr[]): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return cidrs.some(([start, bits]) => parsed.kind() === start.kind() && parsed.match(start, bits));
}

/** All addresses of a name, resolved anew at each call; rejects with a name server's error. */
export type Resolve = (name: string) => Promise<string[]>;

/** Target of a connection: a name or address as the URL parser writes it (IPv6 without brackets), and the port. */
interface Target {
  host: string;
  port: number;
}

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443, 'ssh:': 22 };

/**
 * The target of a URL. Hosts of `ssh:` are not canonicalised by the URL parser, so they pass through the parser of `http:`, which converts
 * `0x7f.1`, `0177.0.0.1` and `2130706433` into `127.0.0.1` (WHATWG URL, IPv4 parser); hosts of `http:` and `https:` have been.
 * @throws DomainError invalid_request: another scheme, credentials in the URL, no usable host.
 */
export function targetOf(url: URL, schemes: readonly string[]): Target {
  const fallback = defaultPorts[url.protocol];
  if (fallback === undefined || !schemes.includes(url.protocol)) {
    throw httpFailure('invalid_url', `${url.protocol} addresses are not allowed`);
  }
  // `git@host` is how ssh names its account; a password is a secret everywhere.
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:')) {
    throw httpFailure('invalid_url', `${url.host}: credentials in the address are not allowed`);
  }
  const host = url.protocol === 'ssh:' ? (URL.parse(`http://${url.hostname}/`)?.hostname ?? '') : url.hostname;
  if (host === '') throw httpFailure('invalid_url', 'the address has no valid host');
  return { host: host.replace(/^\[|\]$/g, ''), port: url.port === '' ? fallback : Number(url.port) };
}

/**
 * Builds the check of a target: answers the addresses a connection may go to, all of the name's. Nothing is remembered.
 * @throws DomainError invalid_request (`blocked_address`) as soon as one address is not allowed; upstream_unavailable (`dns`).
 */
export function createGuard(always: readonly Cidr[], resolve: Resolve = createHostResolver()) {
  return async function check(target: Target, policy: HttpPolicy): Promise<string[]> {
    const { host, port } = target;
    const allowed = [...always, ...parseCidrs(policy.allowedCidrs ?? [])];
    const trusted = (policy.trustedNames ?? []).some((entry) => isTrusted(entry, target));
    const addresses = isIP(host) ? [host] : await answers(resolve, host);
    for (const address of addresses) {
      if (isInside(address, allowed) || (trusted && isIP(address) && !address.includes('%'))) continue;
      const range = rangeOf(address);
      if (range !== 'unicast') {
        // The address is only logged: a name may have been made to map an inner network.
        const cause = new Error(`${host} is ${address}`);
        const words = range.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        throw httpFailure('blocked_address', `${host} is a ${words} address, which may not be reached`, cause);
      }
      if (policy.ports !== undefined && !policy.ports.includes(port)) {
        throw httpFailure('blocked_address', `${host}: port ${port} may not be reached`);
      }
    }
    return addresses;
  };
}

export type Guard = ReturnType<typeof createGuard>;

async function answers(resolve: Resolve, host: string): Promise<string[]> {
  let addresses: string[];
  try {
    addresses = await resolve(host);
  } catch (cause) {
    throw httpFailure('dns', `${host}: the name cannot be resolved`, cause);
  }
  if (addresses.length === 0) throw httpFailure('dns', `${host}: the name has no address`);
  return addresses;
}

/** Exact names only: a wildcard entry vouches for a domain, not for the private addresses below it. */
function isTrusted(entry: string, { host, port }: Target): boolean {
  const parts = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(entry.trim());
  if (parts === null) return false;
  const name = URL.parse(`http://${parts[1]}/`)?.hostname.replace(/^\[|\]$/g, '');
  return name === host && (parts[2] === undefined || Number(parts[2]) === port);
}

/**
 * Addresses of hosts that outgoing requests go to: from the file of hosts, as other programs read it, and from the system's name servers. The
 * system's own function (getaddrinfo(3)) holds one of two threads until a name server answers, ten seconds and more, and cannot be interrupted:
 * two names whose servers are silent would keep all other requests waiting. So names are looked up by queries of our own, each with a time limit.
 */

/** Milliseconds for the first try of a name server. */
const firstTry = 2_500;
const tries = 2;

interface HostResolverOptions {
  /** Name servers, `address[:port]`; default: those of the system. */
  servers?: readonly string[];
  hostsFile?: string;
  /** Where the system names the domains that short names are searched in (resolv.conf(5)). */
  settingsFile?: string;
  /** Milliseconds for a name, with all its tries. */
  time?: number;
}

/** What is made of a file, which counts as empty while it cannot be read. */
function madeOf<T>(path: string, make: (text: string) => T): () => Promise<T> {
  const made = madeOfFile(path, make);
  return () => made().catch(() => make(''));
}

const wordsOf = (line: string) => (line.split(/[#;]/, 1)[0] ?? '').split(/[ \t\r]+/).filter((word) => word !== '');

/** Addresses by name, in lower case (hosts(5)). */
function readHosts(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = wordsOf(line);
    // An address with a zone (RFC 4007) is valid on one interface only.
    if (isIP(address) === 0 || address.includes('%')) continue;
    for (const name of names.map((one) => one.toLowerCase())) found.set(name, [...(found.get(name) ?? []), address]);
  }
  return found;
}

interface SearchList {
  domains: string[];
  /** A name with fewer dots is first looked up in the domains, one with as many as it is. */
  dots: number;
}

/** Domains that a name is searched in, as many as Kubernetes writes; the C library has had no limit since glibc 2.26. */
const mostDomains = 32;

/** Of `search` and `domain` the last one counts (resolv.conf(5)). */
function readSearchList(text: string): SearchList {
  const list: SearchList = { domains: [], dots: 1 };
  for (const line of text.split('\n')) {
    const [word, ...rest] = wordsOf(line);
    if (word === 'search' || word === 'domain')
      list.domains = rest.filter((domain) => domain !== '.').slice(0, mostDomains);
    const dots = word === 'options' ? rest.map((one) => /^ndots:(\d{1,2})$/.exec(one)?.[1]).find(Boolean) : undefined;
    if (dots !== undefined) list.dots = Math.min(Number(dots), 15);
  }
  return list;
}

/** Names that a name may stand for, in the order in which they are looked up. */
function candidatesOf(name: string, { domains, dots }: SearchList): string[] {
  if (name.endsWith('.')) return [name];
  const searched = domains.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= dots ? [name, ...searched] : [...searched, name];
}

/** Such names mean this machine wherever they are looked up (RFC 6761, 6.3). */
const isLocalhost = (name: string) => /(?:^|\.)localhost$/.test(name);
const loopback = ['127.0.0.1', '::1'];

/** Answers of name servers that a name has no address (RFC 2308). */
const absences: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Addresses of exactly this name; none when it does not exist. @throws the error of a name server when none answers */
async function query(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected' && !absences.has(codeOf(answer.reason)));
  if (addresses.length === 0 && failed?.status === 'rejected') throw failed.reason;
  return addresses;
}

/** @returns all addresses of a name, looked up anew at each call; rejects with a name server's error, or one of the code ENOTFOUND */
export function createHostResolver({
  servers,
  hostsFile = '/etc/hosts',
  settingsFile = '/etc/resolv.conf',
  time = 10_000,
}: HostResolverOptions = {}): (name: string) => Promise<string[]> {
  const hosts = madeOf(hostsFile, readHosts);
  const searchList = madeOf(settingsFile, readSearchList);
  return async (name) => {
    const plain = name.replace(/\.$/, '').toLowerCase();
    const listed = (await hosts()).get(plain) ?? (isLocalhost(plain) ? loopback : undefined);
    if (listed !== undefined) return listed;
    const resolver = new Resolver({ timeout: firstTry, tries });
    if (servers !== undefined) resolver.setServers(servers);
    const late = setTimeout(() => resolver.cancel(), time);
    let failure: unknown;
    try {
      for (const candidate of candidatesOf(name, await searchList())) {
        const addresses = await query(resolver, candidate).catch((error: unknown) => {
          // One domain of the search list that fails does not hide the name in another, as with the system's function.
          if (codeOf(error) !== 'ESERVFAIL') throw error;
          failure ??= error;
          return [];
        });
        if (addresses.length > 0) return addresses;
      }
    } finally {
      clearTimeout(late);
    }
    if (failure !== undefined) throw failure;
    throw Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' });
  };
}
