import { Pace, sortYielding } from '../../../lib/concurrency.ts';
import { decodeText, looksLikeHtml } from '../pages/charset.ts';
import { normaliseEscapes } from './normalise.ts';

/** What the rules of a host hold beside their text, and each of its sitemaps beside its address; bytes. */
const perHost = 256;
const perSitemap = 32;

/** Characters of a rule, in any spelling: one that is longer matches no URL that is fetched, for those have at most 2,048. */
const longestRule = 16 * 1024;

/** What all rules together may search of one URL; characters. Tens of thousands of rules with stars would hold the event loop. */
export const mostSearched = 500_000;

interface Search {
  left: number;
}

/** Written as URLs write it, so that both sides of a comparison have one spelling. */
function inUrl(text: string): string {
  const encoded = text.toWellFormed().replace(/[^\u0021-\u007e]|["<>]/gu, (character) => encodeURIComponent(character));
  return normaliseEscapes(encoded);
}

/**
 * Writes a rule in its normal form: `+` when it allows, or `-`, and its path, in which `*` and a `$` at the end are those of robots.txt.
 * @returns null for one that can match no path
 */
function normalRule(written: string, isAllow: boolean): string | null {
  const isEnd = written.endsWith('$');
  const pattern = (isEnd ? written.slice(0, -1) : written).replace(/\*+/g, '*');
  if (pattern.length > longestRule) return null;
  const path = inUrl(pattern).replaceAll('$', '%24');
  if (!path.startsWith('/') && !path.startsWith('*')) return null;
  return `${isAllow ? '+' : '-'}${path}${isEnd ? '$' : ''}`;
}

/**
 * Rules of a host, in the order in which they decide. One text takes about as much memory as the file has bytes; an object for each of tens of
 * thousands of short rules would take thirty times that.
 */
interface RuleList {
  /** All of them in their normal form, one after the other. */
  text: string;
  /** Where each ends in the text. */
  ends: Uint32Array;
}

/** Puts rules in order, in steps: the longest first, and among equal ones rules to allow. */
async function inOrder(rules: readonly string[]): Promise<RuleList> {
  const sorted = await sortYielding(rules, (a, b) => b.length - a.length || a.charCodeAt(0) - b.charCodeAt(0));
  let end = 0;
  return {
    text: copyOf(sorted.join('')),
    ends: Uint32Array.from(sorted, ({ length }) => {
      end += length;
      return end;
    }),
  };
}

/** A text that does not hold the whole one it is a part of. */
const copyOf = (part: string) => Buffer.from(part).toString();

/** @param path path and query of a normalised URL, `*` and `$` in them escaped */
function isAllowedBy({ text, ends }: RuleList, path: string): boolean {
  const search = { left: mostSearched };
  let start = 0;
  for (const end of ends) {
    if (matches(text, start, end, path, search)) return allows(text, start);
    start = end;
  }
  return true;
}

const allows = (text: string, start: number) => text[start] === '+';

/**
 * Whether a rule matches. What is before its first star is compared in place: tens of thousands of rules may be held against each URL.
 * @param search what of the path may still be searched; with nothing left a rule to allow matches nothing, and one to disallow by what is before
 *   its first star
 */
function matches(text: string, start: number, end: number, path: string, search: Search): boolean {
  const first = start + 1;
  let at = first;
  while (at < end && text.charCodeAt(at) === path.charCodeAt(at - first)) at += 1;
  if (at === end) return true;
  if (text[at] === '$') return at - first === path.length;
  if (text[at] !== '*') return false;
  return search.left > 0 ? goesOn(path, at - first, text.slice(at + 1, end), search) : !allows(text, start);
}

/**
 * Whether what is after the first star of a rule follows in a path from a place on. Parts between stars are found leftmost first, which no text
 * makes slow.
 */
function goesOn(path: string, from: number, rest: string, search: Search): boolean {
  let at = from;
  for (let left = rest; ; ) {
    const star = left.indexOf('*');
    if (star === -1 && left.endsWith('$'))
      return path.length - at >= left.length - 1 && path.endsWith(left.slice(0, -1));
    const part = star === -1 ? left : left.slice(0, star);
    const found = path.indexOf(part, at);
    search.left -= (found === -1 ? path.length : found) - at + 1;
    if (star === -1 || found === -1) return found !== -1;
    at = found + part.length;
    left = left.slice(star + 1);
  }
}

/** The name by which robots.txt addresses this crawler. */
const productToken = 'portico';

/** What a host's robots.txt says to this crawler. */
export interface RobotsRules {
  /** @param url absolute, of that host, normalised */
  isAllowed(url: string): boolean;
  /** Seconds, at most 60; null: not given. */
  crawlDelay: number | null;
  /** Its `Sitemap:` lines, as written. */
  sitemaps: string[];
  /** About what they hold in memory; bytes. */
  size: number;
}

/** Bytes of a robots.txt that count (RFC 9309 2.5). */
export const maxRobotsBytes = 512 * 1024;
export const maxRobotsHops = 5;
const maxDelay = 60;
const maxSitemaps = 500;

export const allowAll: RobotsRules = { isAllowed: () => true, crawlDelay: null, sitemaps: [], size: perHost };
export const disallowAll: RobotsRules = { isAllowed: isRobotsFile, crawlDelay: null, sitemaps: [], size: perHost };

/**
 * What an answer for robots.txt means (RFC 9309 2.3.1): `read` its body, `follow` its redirect (at most 5 hops, after which, as
 * without a target, everything is allowed), `allow_all`, or `retry`, and when that does not help, `disallowAll`.
 */
export function robotsAnswer(status: number): 'read' | 'follow' | 'allow_all' | 'retry' {
  if (status >= 200 && status < 300) return 'read';
  if ([301, 302, 303, 307, 308].includes(status)) return 'follow';
  return status === 429 || status >= 500 ? 'retry' : 'allow_all';
}

/** The text of a robots.txt: its first 512 KiB in UTF-8, or UTF-16 when a byte order mark says so; nothing when it is HTML. */
export function robotsText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  const text = decodeText(bytes.subarray(0, maxRobotsBytes), encoding);
  return looksLikeHtml(text) ? '' : text;
}

/** The lines addressed to one robot. */
interface Group {
  /** In their normal form, and the order of the file. */
  rules: string[];
  delays: number[];
}

const lines = /[^\r\n]+/g;
const line = /^[\t ]*([a-z-]+)[\t ]*:[\t ]*([^#]*)/i;
const decimal = /^\d+(?:\.\d+)?$/;

/**
 * Reads a robots.txt for the token `Portico`: all groups that name it together, or else those for `*`. The longest rule wins, `Allow`
 * among equals; `*` stands for anything, `$` at the end for the end (RFC 9309 2.2). What a test searches is bounded for all rules together. In steps:
 * 512 KiB take a tenth of a second.
 */
export async function parseRobots(text: string): Promise<RobotsRules> {
  // Only these count: a file may name tens of thousands of others before tens of thousands of lines.
  const own: Group = { rules: [], delays: [] };
  const others: Group = { rules: [], delays: [] };
  let isOwn = false;
  const sitemaps: string[] = [];
  const current = new Set<Group>();
  let isNaming = false;
  const pace = new Pace();
  for (const [written] of text.matchAll(lines)) {
    if (pace.isDue) await pace.yield();
    const [, key = '', rest = ''] = line.exec(written) ?? [];
    const value = rest.trim();
    const name = key.toLowerCase();
    if (name === 'user-agent') {
      const agent = agentOf(value);
      if (!isNaming) current.clear();
      if (agent === productToken) current.add(own);
      else if (agent === '*') current.add(others);
      isOwn ||= agent === productToken;
      isNaming = true;
    } else if (name === 'allow' || name === 'disallow') {
      isNaming = false;
      const rule = value === '' || current.size === 0 ? null : normalRule(value, name === 'allow');
      if (rule) for (const group of current) group.rules.push(rule);
    } else if (name === 'crawl-delay') {
      isNaming = false;
      if (decimal.test(value)) for (const group of current) group.delays.push(Math.min(Number(value), maxDelay));
    } else if (name === 'sitemap' && value !== '' && sitemaps.length < maxSitemaps) {
      // Belongs to no group, and so ends none.
      sitemaps.push(copyOf(value));
    }
  }
  const { rules, delays } = isOwn ? own : others;
  return rulesOf(await inOrder(rules), delays, sitemaps);
}

/** The product token of a `User-agent` line, without version. */
const agentOf = (value: string) => (value.startsWith('*') ? '*' : (/^[a-z_-]*/i.exec(value)?.[0] ?? '').toLowerCase());

function isRobotsFile(url: string): boolean {
  return URL.parse(url)?.pathname === '/robots.txt';
}

function rulesOf(rules: RuleList, delays: readonly number[], sitemaps: string[]): RobotsRules {
  return {
    isAllowed(url) {
      const { pathname, search } = new URL(url);
      if (pathname === '/robots.txt') return true;
      return isAllowedBy(rules, (pathname + search).replaceAll('*', '%2A').replaceAll('$', '%24'));
    },
    crawlDelay: delays.length === 0 ? null : Math.max(...delays),
    sitemaps,
    size:
      perHost +
      rules.text.length +
      rules.ends.byteLength +
      sitemaps.reduce((sum, { length }) => sum + perSitemap + 2 * length, 0),
  };
}
