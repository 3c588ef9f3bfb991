import { randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { alphabet } from '../../../lib/ids.ts';
import { hostOf } from '../config/host.ts';
import { registrableDomain } from './trusted-domains.ts';

const length = 27;

/** 160 random bits in base62. */
function newToken(): string {
  let rest = BigInt(`0x${randomBytes(20).toString('hex')}`);
  let text = '';
  for (let i = 0; i < length; i++) {
    text = alphabet.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** What one token is for: the registrable domain of a host, or the host itself without one. */
function tokenDomain(host: string): string {
  const name = hostOf(host)?.name ?? host;
  return registrableDomain(name) ?? name;
}

/** The token of an organisation for a host; null when none was created yet. */
export async function findToken(em: EntityManager, organization_id: number, host: string): Promise<string | null> {
  const sql = 'select token from verification_token where organization_id = ? and domain = ?';
  const [row] = await em.execute<{ token: string }[]>(sql, [organization_id, tokenDomain(host)]);
  return row?.token ?? null;
}

/** The token of an organisation for a host, created when missing; of concurrent callers one creates it and all get the same. */
export async function ensureToken(em: EntityManager, organization_id: number, host: string): Promise<string> {
  const sql = `
    insert into verification_token (organization_id, domain, token) values (?, ?, ?)
    on conflict (organization_id, domain) do update set domain = excluded.domain returning token`;
  const [row] = await em.execute<[{ token: string }]>(sql, [organization_id, tokenDomain(host), newToken()]);
  return row.token;
}

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
