import { publicSuffixes } from '../../urls/public-suffixes.ts';
import { isTrusted, type TrustedDomain } from '../../verification/trusted-domains.ts';
import { type Host, hostOf, hostText } from '../host.ts';

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
