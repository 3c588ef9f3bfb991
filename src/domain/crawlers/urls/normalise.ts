import { createRequire } from 'node:module';
import type * as Suffixes from 'tldts';
import { encodeQuery } from './query-encoding.ts';

const pathSession = /;jsessionid=[^;/]*/gi;

/** Takes `;jsessionid=…` off every segment of a path. */
const stripPath = (path: string): string => (path.includes(';') ? path.replace(pathSession, '') : path);

const sessions = ['phpsessid', 'aspsessionid*'];

const isNamed = (name: string, patterns: readonly string[]) =>
  patterns.some((pattern) => {
    const wanted = pattern.toLowerCase();
    return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;
  });

/**
 * Takes session ids and parameters that only track visitors off a query; the others stay as they are, in their order.
 * @param search with its `?`, escapes in their normal form; may be empty
 * @param stripParams further names, case ignored; `*` at the end stands for any
 */
function stripQuery(search: string, stripParams: readonly string[]): string {
  if (search.length <= 1) return '';
  const parts = search.slice(1).split('&');
  const kept = parts.filter((part) => {
    const name = (part.split('=', 1)[0] ?? '').toLowerCase();
    return !isNamed(name, sessions) && !isNamed(name, stripParams);
  });
  if (kept.length === parts.length) return search;
  return kept.length === 0 || (kept.length === 1 && kept[0] === '') ? '' : `?${kept.join('&')}`;
}

/** How links of a run are normalised. */
export interface NormaliseOptions {
  /** The run's origin: links to its host take its scheme when both ports are default. */
  origin?: URL | undefined;
  /** Names of parameters taken off, case ignored; `*` at the end stands for any. */
  stripParams: readonly string[];
  /** Of the document a link is written in: the one its query is sent in; UTF-8 when absent. */
  charset?: string | undefined;
}

const unreserved = /[A-Za-z0-9._~-]/;
const escapes = /%[0-9a-f]{2}/gi;
const hex = /^[0-9a-f]$/i;

/** Whether the text ends in a percent sign that one more digit would make an escape; text of escapes alone never does. */
function opensEscape(text: string, at: number): boolean {
  return text[at - 1] === '%' || (text[at - 2] === '%' && hex.test(text[at - 1] ?? ''));
}

/** Decodes escapes of unreserved characters and writes all others in upper case (RFC 3986 section 6.2.2). */
export function normaliseEscapes(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(escapes, (found, at: number) => {
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
    return unreserved.test(character) && !opensEscape(text, at) ? character : found.toUpperCase();
  });
}

/** What no document's address begins with; saves parsing pictures written into pages. */
const foreign = /^\s*(?:data|blob|javascript|mailto|tel|about):/i;

/** Without these a parsed URL is in its normal form. */
const special = /[%;?#@]/;

/**
 * The one spelling of a link under which a run knows its target: no fragment, lower-case punycode host without final dot or default
 * port, no dot segments, escapes in their normal form, no session ids. Case and slashes of the path and the order of parameters stay.
 * @param base the document's address or its first `<base href>`
 * @returns null for what is no http(s) URL, or has user info
 */
export function normalise(link: string, base: string | URL, options: NormaliseOptions): string | null {
  if (foreign.test(link)) return null;
  const url = URL.parse(options.charset === undefined ? link : encodeQuery(link, options.charset), String(base));
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  if (url.username !== '' || url.password !== '' || !dropFinalDot(url)) return null;
  const { origin } = options;
  if (origin && url.hostname === origin.hostname && url.port === '' && origin.port === '')
    url.protocol = origin.protocol;
  const { href } = url;
  if (!special.test(href)) return href;
  const path = normaliseEscapes(url.pathname);
  const stripped = stripPath(path);
  // Without a session id a segment may have become `.` or `..`.
  const resolved = stripped === path ? path : new URL(url.origin + stripped).pathname;
  return url.origin + resolved + stripQuery(normaliseEscapes(url.search), options.stripParams);
}

/** False when what remains is no host. */
function dropFinalDot(url: URL): boolean {
  if (!url.hostname.endsWith('.')) return true;
  url.hostname = url.hostname.slice(0, -1);
  return url.hostname !== '' && !url.hostname.endsWith('.');
}

const require = createRequire(import.meta.url);
let loaded: typeof Suffixes | undefined;

/** The reader of the public suffix list, loaded with the first look-up: a start needs none. */
export function publicSuffixes(): typeof Suffixes {
  loaded ??= require('tldts') as typeof Suffixes;
  return loaded;
}
