import type { HttpPolicy } from '../../../ports/http.ts';
import { type Host, hostOf, hostText } from '../config/host.ts';
import { publicSuffixes } from '../urls/normalise.ts';

/** An entry of `PORTICO_TRUSTED_DOMAINS`. */
export interface TrustedDomain {
  /** Host name or address in its normal form. */
  name: string;
  /** Null: any port. */
  port: number | null;
  /** It stands for the names below `name`, not for itself. */
  is_wildcard: boolean;
}

/** Reads `host`, `host:port` or `*.host`; null when it is none of them. */
export function parseTrustedDomain(entry: string): TrustedDomain | null {
  const is_wildcard = entry.startsWith('*.');
  const host = hostOf(is_wildcard ? entry.slice(2) : entry);
  if (!host || host.scheme !== null) return null;
  const port = /:(\d+)$/.exec(entry.replace(/^\[.*\]/, ''))?.[1];
  if (is_wildcard && (port !== undefined || host.is_address)) return null;
  return { name: host.name, port: port === undefined ? null : Number(port), is_wildcard };
}

function isNamed({ name, port, is_wildcard }: TrustedDomain, host: string): boolean {
  const wanted = hostOf(host);
  if (!wanted) return false;
  if (is_wildcard) return wanted.name.endsWith(`.${name}`);
  if (wanted.name !== name || port === null) return wanted.name === name;
  return wanted.port === null ? port === 80 || port === 443 : wanted.port === port;
}

/** Whether the operator vouches for a host (`name` or `name:port`): it counts as verified. */
export const isTrusted = (entries: readonly TrustedDomain[], host: string): boolean =>
  entries.some((entry) => isNamed(entry, host));

/** The exact names of the list, as a policy of outgoing requests takes them: those alone may be private addresses. */
const trustedNames = (entries: readonly TrustedDomain[]): string[] =>
  entries.filter(({ is_wildcard }) => !is_wildcard).map(({ name, port }) => (port === null ? name : `${name}:${port}`));

/** Options of the public suffix list: suffixes of hosting services count, since their customers are strangers to each other. */
const suffixes = { allowPrivateDomains: true, validateHostname: false };

/** The domain one can register that a name belongs to; null for addresses, single labels and public suffixes. */
export const registrableDomain = (name: string): string | null => publicSuffixes().getDomain(name, suffixes);

const isSingle = ({ is_address, name }: Host) => is_address || !name.includes('.');

/**
 * The host of a crawler's domain.
 * @returns null for what is no host or origin, a public suffix, or (unless the operator vouches for it) an address or a single label
 */
export function crawlableHost(domain: string, trusted: readonly TrustedDomain[]): Host | null {
  const host = hostOf(domain);
  if (!host) return null;
  if (isTrusted(trusted, hostText(host))) return host;
  return isSingle(host) || registrableDomain(host.name) === null ? null : host;
}

/** Why a domain has no host that can be crawled, as it follows the field's name. */
export function domainFault(domain: string): string {
  const host = hostOf(domain);
  const hint =
    host && isSingle(host) ? '; an address or a single label only where PORTICO_TRUSTED_DOMAINS lists it' : '';
  return `must be a host name or an http(s) origin${hint}`;
}

interface Reached {
  organization_id: number;
  /** Of the crawler: its own first, then those of `allowed_domains`. */
  hosts: readonly string[];
}

/**
 * What crawls and domain checks may reach: the ports of the web, and inner addresses only by exact trusted names. A crawl whose own host is not
 * among these reaches those that its crawler names: pages of the internet must not choose among them.
 */
export function policyFor(
  { ports, trusted_domains }: { ports: readonly number[]; trusted_domains: readonly TrustedDomain[] },
  { organization_id, hosts }: Reached,
): HttpPolicy {
  const exact = trusted_domains.filter(({ is_wildcard }) => !is_wildcard);
  const [own = '', ...allowed] = hosts;
  const reached = isTrusted(exact, own)
    ? exact
    : exact.filter((entry) => allowed.some((host) => isTrusted([entry], host)));
  return { pool: String(organization_id), ports, trustedNames: trustedNames(reached) };
}
