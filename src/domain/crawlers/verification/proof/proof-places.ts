import { registrableDomain } from '../../config/draft/check-domain.ts';
import { hostOf } from '../../config/host.ts';

export const filePath = '/.well-known/portico-verification.txt';
export const metaName = 'portico-verification';

export const dnsText = (token: string) => `portico-verification=${token}`;
export const dnsName = (name: string) => `_portico-challenge.${name}`;
export const metaTag = (token: string) => `<meta name="${metaName}" content="${token}">`;

/** The names whose records may prove a host, the one that proves most in front; none for an address. */
export function dnsNames(host: string): string[] {
  const there = hostOf(host);
  if (!there || there.is_address) return [];
  return [...new Set([registrableDomain(there.name) ?? there.name, there.name])];
}
