import { compilePatterns } from './filters.ts';
import type { RobotsRules } from './robots.ts';
import { type CrawlScope, scopeTest } from './scope.ts';
import { type UrlTrap, urlTrap } from './url-traps.ts';

/** Why a URL is left out, as the run's pages and `test-url` show it. `exclude[3]` is the fourth pattern of `exclude`. */
export type SkipRule = 'scope' | `exclude[${number}]` | 'include' | 'robots' | UrlTrap;

export type Decision = { verdict: 'take' } | { verdict: 'skip'; rule: SkipRule };

export interface DecideContext {
  kind: 'page' | 'asset' | 'sitemap';
  /** URLs the crawler's owner named: `include` does not apply to them. */
  isEntry: boolean;
  /** Rules of the URL's host, once they are known; otherwise robots are asked later. */
  robots?: RobotsRules | null;
  /** What a page needs to be shown may be anywhere. */
  isAnywhere?: boolean;
}

/** Decides by the URL alone, in this order: scope, exclude, include (pages only), robots, traps. */
export type Decider = (url: string, context: DecideContext) => Decision;

export interface DeciderOptions {
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
  return (text, { kind, isEntry, robots, isAnywhere }) => {
    const url = URL.parse(text);
    if (url === null || !(isAnywhere || isInScope(url))) return skip('scope');
    const at = excluded.findIndex((matches) => matches(text));
    if (at !== -1) return skip(`exclude[${at}]`);
    const needsInclude = kind === 'page' && !isEntry && included.length > 0;
    if (needsInclude && !included.some((matches) => matches(text))) return skip('include');
    if (robots && !robots.isAllowed(text)) return skip('robots');
    const trap = urlTrap(url);
    return trap === null ? take : skip(trap);
  };
}
