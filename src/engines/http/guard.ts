import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { HttpPolicy } from '../../ports/http.ts';
import { httpFailure } from './failures.ts';
import { createHostResolver } from './host-addresses.ts';

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
 * The range of an address: `unicast` for one on the public internet, otherwise the name of its special range (`private`,
 * `loopback`, `linkLocal`, `6to4`, `teredo`, …). An IPv4-mapped address (`::ffff:127.0.0.1`) counts as the IPv4 address in it; a
 * scoped one (`fe80::1%eth0`, RFC 4007) is `scoped`, since what it reaches depends on the machine; not an address: `invalid`.
 */
export function rangeOf(address: string): string {
  if (address.includes('%')) return 'scoped';
  if (!ipaddr.isValid(address)) return 'invalid';
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  // `::127.0.0.1` and unassigned blocks have no name in ipaddr.js.
  if (range === 'unicast' && parsed.kind() === 'ipv6' && !isInside(address, globalUnicast)) return 'reserved';
  return range;
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
