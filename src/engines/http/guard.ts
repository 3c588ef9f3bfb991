import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { HttpPolicy } from '../../domain/ports/http.ts';
import { type Cidr, isInside, parseCidrs, rangeOf } from './address.ts';
import { httpFailure } from './failures.ts';

/** All addresses of a name, asked anew at each call; rejects with the system's error. */
export type Resolve = (name: string) => Promise<string[]>;

/** Where a connection goes: a name or address as the URL parser writes it (IPv6 without brackets), and the port. */
export interface Target {
  host: string;
  port: number;
}

/** The system's resolver, so that /etc/hosts counts exactly as it would for any other program. */
export const systemResolve: Resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address);

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443, 'ssh:': 22 };

/**
 * The target of a URL. Hosts of `ssh:` are not canonicalised by the URL parser, so they go through the parser of `http:`, which turns
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
export function createGuard(always: readonly Cidr[], resolve: Resolve = systemResolve) {
  return async function check(target: Target, policy: HttpPolicy): Promise<string[]> {
    const { host, port } = target;
    const allowed = [...always, ...parseCidrs(policy.allowedCidrs ?? [])];
    const trusted = (policy.trustedNames ?? []).some((entry) => isTrusted(entry, target));
    const addresses = isIP(host) ? [host] : await answers(resolve, host);
    for (const address of addresses) {
      if (isInside(address, allowed) || (trusted && isIP(address) && !address.includes('%'))) continue;
      const range = rangeOf(address);
      if (range !== 'unicast') {
        // The address goes to the log only: a name may have been made to map an inner network.
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
