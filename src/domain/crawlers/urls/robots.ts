import { Pace, sortYielding } from '../../../lib/concurrency.ts';
import { decodeText, looksLikeHtml } from '../pages/charset.ts';
import { normaliseEscapes } from './normalise.ts';

/** One `Allow` or `Disallow` line. */
interface RobotsRule {
  isAllow: boolean;
  /** Characters of its normal form: the longest rule that matches decides. */
  length: number;
  /** About what it holds in memory; bytes. */
  size: number;
  /**
   * @param path path and query of a normalised URL, `*` and `$` in them escaped
   * @param search what of it may still be searched; with nothing left a rule to allow matches nothing, and one to disallow by what is before its first star
   */
  matches(path: string, search: Search): boolean;
}

/** What each rule holds beside its text, and rules at all; bytes. */
const perRule = 256;
/** What each part between stars holds beside its text; bytes. */
const perPart = 32;

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
 * Compiles the path of a rule. Parts between stars are found leftmost first, which no text makes slow.
 * @returns null for one that can match no path
 */
function pathPattern(written: string, isAllow: boolean): RobotsRule | null {
  const isEnd = written.endsWith('$');
  const pattern = inUrl(isEnd ? written.slice(0, -1) : written);
  if (!pattern.startsWith('/') && !pattern.startsWith('*')) return null;
  // Parsed once: a robots.txt may have tens of thousands of rules, and each is matched against every URL.
  const [first = '', ...middle] = pattern.replace(/\*+/g, '*').replaceAll('$', '%24').split('*');
  const last = isEnd ? middle.pop() : undefined;
  const isExact = isEnd && last === undefined;
  return {
    isAllow,
    length: pattern.length + (isEnd ? 1 : 0),
    size: perRule + perPart * middle.length + 2 * pattern.length,
    matches(path, search) {
      if (isExact || !path.startsWith(first)) return isExact && path === first;
      if (middle.length === 0 && last === undefined) return true;
      return search.left > 0 ? goesOn(path, first.length, [middle, last], search) : !isAllow;
    },
  };
}

/** Whether parts follow one another in a path from a place on, and the last one ends it. */
function goesOn(
  path: string,
  from: number,
  [parts, last]: readonly [readonly string[], string | undefined],
  search: Search,
): boolean {
  let at = from;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    search.left -= (found === -1 ? path.length : found) - at + 1;
    if (found === -1) return false;
    at = found + part.length;
  }
  return last === undefined || (path.length - last.length >= at && path.endsWith(last));
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

export const allowAll: RobotsRules = { isAllowed: () => true, crawlDelay: null, sitemaps: [], size: perRule };
export const disallowAll: RobotsRules = { isAllowed: isRobotsFile, crawlDelay: null, sitemaps: [], size: perRule };

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
  rules: RobotsRule[];
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
      const rule = value === '' || current.size === 0 ? null : pathPattern(value, name === 'allow');
      if (rule) for (const group of current) group.rules.push(rule);
    } else if (name === 'crawl-delay') {
      isNaming = false;
      if (decimal.test(value)) for (const group of current) group.delays.push(Math.min(Number(value), maxDelay));
    } else if (name === 'sitemap' && value !== '' && sitemaps.length < maxSitemaps) {
      // Belongs to no group, and so ends none.
      sitemaps.push(value);
    }
  }
  const { rules, delays } = isOwn ? own : others;
  // Parts of a text hold all of it.
  const size = rules.reduce((sum, rule) => sum + rule.size, perRule + 2 * text.length);
  const byLength = await sortYielding(rules, (a, b) => b.length - a.length || Number(b.isAllow) - Number(a.isAllow));
  return rulesOf(byLength, delays, sitemaps, size);
}

/** The product token of a `User-agent` line, without version. */
const agentOf = (value: string) => (value.startsWith('*') ? '*' : (/^[a-z_-]*/i.exec(value)?.[0] ?? '').toLowerCase());

function isRobotsFile(url: string): boolean {
  return URL.parse(url)?.pathname === '/robots.txt';
}

function rulesOf(
  byLength: readonly RobotsRule[],
  delays: readonly number[],
  sitemaps: string[],
  size: number,
): RobotsRules {
  return {
    isAllowed(url) {
      const { pathname, search } = new URL(url);
      if (pathname === '/robots.txt') return true;
      const path = (pathname + search).replaceAll('*', '%2A').replaceAll('$', '%24');
      const budget = { left: mostSearched };
      return byLength.find((rule) => rule.matches(path, budget))?.isAllow ?? true;
    },
    crawlDelay: delays.length === 0 ? null : Math.max(...delays),
    sitemaps,
    size,
  };
}
