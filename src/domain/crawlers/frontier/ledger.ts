import type { RunCounts, Tally } from '../runs/run-counts.ts';
import type { UrlKind, UrlState } from './crawl-url.entity.ts';

/** Where a URL stands, as far as counting goes. */
export interface CountedUrl {
  kind: UrlKind;
  host: string;
  depth: number;
  state: UrlState;
  rule: string | null;
}

type SkipCount = 'skipped_robots' | 'skipped_filter' | 'skipped_scope' | 'skipped_trap' | 'skipped_limit';

const limitRules = new Set(['depth', 'max_hits', 'max_html', 'server_limit']);

/** The counter of a rule a URL is skipped by. */
export function skipCounter(rule: string): SkipCount {
  if (rule === 'robots') return 'skipped_robots';
  if (rule === 'scope') return 'skipped_scope';
  if (rule === 'include' || rule.startsWith('exclude')) return 'skipped_filter';
  return limitRules.has(rule) ? 'skipped_limit' : 'skipped_trap';
}

function add(tallies: Record<string, Tally>, key: string, count: number, bytes: number): void {
  const tally = (Object.hasOwn(tallies, key) && tallies[key]) || { count: 0, bytes: 0 };
  tallies[key] = { count: tally.count + count, bytes: tally.bytes + bytes };
}

/** Hosts can send any type: so many different ones are counted apart, of as many characters as a type has at most (RFC 6838, 4.2). */
const mostTypes = 100;
const longestType = 255;

/** The counters of a run while one transaction changes its rows, and what it moved: nothing else may count. */
export class Ledger {
  readonly counts: RunCounts;
  /** Each move of a URL, for the frontier's statistics: `null` for a new URL. */
  readonly moves: { from: CountedUrl | null; to: CountedUrl; count: number }[] = [];

  constructor(counts: RunCounts) {
    this.counts = { ...counts, by_status: { ...counts.by_status }, by_type: { ...counts.by_type } };
  }

  /** `count` URLs that stood alike now stand elsewhere. */
  move(from: CountedUrl | null, to: CountedUrl, count = 1): void {
    if (from) this.#stands(from, -count);
    this.#stands(to, count);
    this.moves.push({ from, to, count });
  }

  #stands({ state, rule }: CountedUrl, change: number): void {
    const { counts } = this;
    if (state === 'pending' || state === 'leased') counts[state] += change;
    else if (state === 'error') counts.errors += change;
    else if (state === 'skipped') counts[skipCounter(rule ?? '')] += change;
  }

  status(status: number, bytes: number): void {
    add(this.counts.by_status, String(status), 1, bytes);
  }

  /** `type` without parameters. */
  type(type: string, bytes: number): void {
    const { by_type } = this.counts;
    const isFull = !Object.hasOwn(by_type, type) && Object.keys(by_type).length >= mostTypes;
    add(by_type, isFull || type.length > longestType ? 'other' : type, 1, bytes);
  }
}
