import type { CrawlDefaults } from '../../config/crawl-defaults.ts';
import type { CrawlerSettings } from '../../config/crawler.schema.ts';
import type { Budget } from '../../frontier/turn/budgets.ts';

/** What an unverified host gets, whatever was raised for the crawler. */
export const unverifiedLimits = { delay: 4, inFlight: 2 };

/** The limits a run keeps to. */
export interface EffectiveLimits {
  budget: Budget;
  workers: number;
  /** Seconds between starts on the primary host. */
  delay: number;
  ignoreRobots: boolean;
  /** The primary host is not verified (any more), and something was raised for it. */
  isClamped: boolean;
}

/** The smaller of two limits of which 0 is none. */
const tighter = (a: number, b: number) => (a === 0 ? b : b === 0 ? a : Math.min(a, b));

/**
 * The settings of a run as they hold for it: without verification nothing is more than an unverified crawler could ask for.
 * @param isVerified of the primary host, now
 * @param maxDepth of the server
 */
export function effectiveLimits(
  settings: Pick<
    CrawlerSettings,
    'workers' | 'delay' | 'max_hits' | 'max_html' | 'max_errors' | 'depth' | 'ignore_robots'
  >,
  { max_html: usual }: Pick<CrawlDefaults, 'max_html'>,
  { isVerified, maxDepth }: { isVerified: boolean; maxDepth: number },
): EffectiveLimits {
  const { workers, delay, max_hits, max_errors, depth, ignore_robots } = settings;
  const max_html = settings.max_html ?? usual;
  const budget = { max_hits, max_html, max_errors, depth: depth < 0 ? -1 : Math.min(depth, maxDepth) };
  if (isVerified) return { budget, workers, delay, ignoreRobots: ignore_robots, isClamped: false };
  const clamped = {
    budget: { ...budget, max_html: tighter(max_html, usual) },
    workers: Math.min(workers, unverifiedLimits.inFlight),
    delay: Math.max(delay, unverifiedLimits.delay),
    ignoreRobots: false,
  };
  const isClamped =
    clamped.workers !== workers || clamped.delay !== delay || clamped.budget.max_html !== max_html || ignore_robots;
  return { ...clamped, isClamped };
}
