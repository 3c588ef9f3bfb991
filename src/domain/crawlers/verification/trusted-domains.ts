import { hostOf } from '../config/host.ts';

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
export const trustedNames = (entries: readonly TrustedDomain[]): string[] =>
  entries.filter(({ is_wildcard }) => !is_wildcard).map(({ name, port }) => (port === null ? name : `${name}:${port}`));
