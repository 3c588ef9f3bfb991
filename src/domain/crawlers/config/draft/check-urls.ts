import { type Host, hostOf, hostText, siblingOf } from '../host.ts';
import { type DraftFault, type FieldName, faultAt } from './draft-fields.ts';

/** Control characters would vanish in the parser, and the address be another one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const form = /^(?:\/|https?:\/\/)[^\u0000-\u001f\u007f]*$/i;

/** The address a path or URL means on a host; null when it is neither. */
function addressOf(text: string, host: Host): URL | null {
  const url = form.test(text) ? URL.parse(text, `https://${hostText(host)}/`) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  return isPlain ? url : null;
}

/** An entry of `allowed_domains` in its normal form; null when it is no host. A wildcard stands below a name that has an owner. */
export function allowedHost(text: string): string | null {
  const isWildcard = text.startsWith('*.');
  const host = hostOf(isWildcard ? text.slice(2) : text.trim());
  if (!host || (isWildcard && (host.scheme !== null || host.port !== null || host.is_address))) return null;
  return `${isWildcard ? '*.' : ''}${hostText(host)}`;
}

const isAllowed = (allowed: readonly string[], { name, port }: Host) =>
  allowed.some((entry) =>
    entry.startsWith('*.') ? port === null && name.endsWith(entry.slice(1)) : entry === hostText({ name, port }),
  );

/** Whether a path or URL of a setting lies in a crawl of `host` and the allowed domains. */
export function isInScope(text: string, host: Host, allowed: readonly string[]): boolean {
  const url = addressOf(text, host);
  const there = url && hostOf(url.origin);
  if (!there) return false;
  if (there.port === host.port && (there.name === host.name || there.name === siblingOf(host.name))) return true;
  return isAllowed(allowed, there);
}

/** Whether a setting is a path or an http(s) URL of any host. */
export const isPathOrUrl = (text: string, host: Host) => addressOf(text, host) !== null;

/** Faults of a list of paths and URLs. */
export const urlFaults = (
  field: FieldName,
  urls: readonly string[],
  host: Host,
  allowed: readonly string[],
): DraftFault[] =>
  [...urls.entries()]
    .filter(([, url]) => !isInScope(url, host, allowed))
    .map(([index]) => faultAt(field, [index], 'must be a path or an http(s) URL of an allowed domain'));
