import { findYielding, mapYielding } from '../../../lib/concurrency.ts';
import type { RobotsRules } from './robots.ts';

/** Tests a URL; linear in its length. */
type UrlPattern = (url: string) => boolean;

/**
 * Compiles patterns of `include` or `exclude` once for a run, in RE2 syntax and unanchored. The library is loaded when the first
 * pattern is met. In steps: to compile some hundreds takes seconds.
 * @throws PatternError for one that does not compile; crawlers never store such
 */
async function compilePatterns(patterns: readonly string[]): Promise<UrlPattern[]> {
  if (patterns.length === 0) return [];
  const { RE2JS } = await import('re2js');
  return mapYielding(patterns, (pattern, index) => {
    try {
      const expression = RE2JS.compile(pattern);
      return (url) => expression.test(url);
    } catch (error) {
      throw new PatternError(index, error instanceof Error ? error.message : String(error));
    }
  });
}

/** A pattern RE2 does not know. */
export class PatternError extends Error {
  /** Its place in the list. */
  readonly index: number;
  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

/** Which hosts a run may take from. Hosts are `name`, or `name:port` when the port is not the scheme's own. */
interface CrawlScope {
  /** Scheme and host chosen at the start of the run. */
  origin: URL;
  /** The primary host, and its sibling when the start page redirects there. */
  hosts: readonly string[];
  /** `allowed_domains`: a host, or `*.host` for all names below it (on default ports), not itself. */
  allowed: readonly string[];
}

/** Tests whether the host of a normalised URL is in scope. */
export function scopeTest({ origin, hosts, allowed }: CrawlScope): (url: URL) => boolean {
  const exact = new Set([origin.host, ...hosts, ...allowed.filter((host) => !host.startsWith('*.'))]);
  const suffixes = allowed.filter((host) => host.startsWith('*.')).map((host) => host.slice(1));
  return ({ host }) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix) && host !== suffix.slice(1));
}

/** The traps that a URL alone shows. */
type UrlTrap = 'url_shape' | 'repeated_segment';

const urlTrapBounds = { characters: 2_048, segments: 32, parameters: 32, inRow: 3, inAll: 5 };

/** The trap a normalised URL is, or null: too deep or with too many parameters; a segment over and over. */
function urlTrap({ pathname, search }: URL): UrlTrap | null {
  const segments = pathname.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop();
  if (segments.length > urlTrapBounds.segments) return 'url_shape';
  if (search !== '' && search.split('&').length > urlTrapBounds.parameters) return 'url_shape';
  return hasRepeats(segments) ? 'repeated_segment' : null;
}

function hasRepeats(segments: readonly string[]): boolean {
  if (segments.length <= urlTrapBounds.inRow) return false;
  const counts = new Map<string, number>();
  let inRow = 0;
  let before: string | undefined;
  for (const segment of segments) {
    inRow = segment === before ? inRow + 1 : 1;
    before = segment;
    const count = (counts.get(segment) ?? 0) + 1;
    counts.set(segment, count);
    if (inRow > urlTrapBounds.inRow || count > urlTrapBounds.inAll) return true;
  }
  return false;
}

/** Why a URL is left out, as the run's pages and `test-url` show it. `exclude[3]` is the fourth pattern of `exclude`. */
type SkipRule = 'scope' | `exclude[${number}]` | 'include' | 'robots' | UrlTrap;

type Decision = { verdict: 'take' } | { verdict: 'skip'; rule: SkipRule };

export interface DecideContext {
  kind: 'page' | 'asset' | 'sitemap';
  /** URLs the crawler's owner named: `include` does not apply to them. */
  isEntry: boolean;
  /** Rules of the URL's host, once they are known; otherwise robots.txt is checked later. */
  robots?: RobotsRules | null;
  /** What a page needs to be shown may be anywhere. */
  isAnywhere?: boolean;
}

/**
 * Decides by the URL alone, in this order: scope, length, exclude, include (pages only), robots, other traps. A pattern takes time with every character
 * of a URL: one that is too long anyway is held against none, and all else has its turn between two patterns.
 */
export type Decider = (url: string, context: DecideContext) => Promise<Decision>;

interface DeciderOptions {
  scope: CrawlScope;
  include: readonly string[];
  exclude: readonly string[];
}

const take: Decision = { verdict: 'take' };
const skip = (rule: SkipRule): Decision => ({ verdict: 'skip', rule });

/**
 * Makes the one decision that discovery, redirects, sitemaps and `test-url` share; patterns are compiled here, once.
 * @throws PatternError for a pattern that does not compile
 */
export async function createDecider({ scope, include, exclude }: DeciderOptions): Promise<Decider> {
  const isInScope = scopeTest(scope);
  const [included, excluded] = await Promise.all([compilePatterns(include), compilePatterns(exclude)]);
  return async (text, { kind, isEntry, robots, isAnywhere }) => {
    const url = URL.parse(text);
    if (url === null || !(isAnywhere || isInScope(url))) return skip('scope');
    if (url.href.length > urlTrapBounds.characters) return skip('url_shape');
    const exclusion = await findYielding(excluded.entries(), ([, matches]) => matches(text));
    if (exclusion) return skip(`exclude[${exclusion[0]}]`);
    const needsInclude = kind === 'page' && !isEntry && included.length > 0;
    if (needsInclude && !(await findYielding(included, (matches) => matches(text)))) return skip('include');
    if (robots && !robots.isAllowed(text)) return skip('robots');
    const trap = urlTrap(url);
    return trap === null ? take : skip(trap);
  };
}
