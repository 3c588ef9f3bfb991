import type { EntityManager } from '@mikro-orm/postgresql';
import type { UrlKind } from './crawl-url.entity.ts';
import type { CountedUrl, Ledger } from './ledger.ts';

const statisticsSql = `
  select kind, host, depth, state, count(*)::integer as count from crawl_url
  where run_id = ? and state in ('pending', 'leased') group by kind, host, depth, state`;

const bump = <K>(counts: Map<K, number>, key: K, change: number): void => {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
};

/** The open part of a run's frontier, by host and by depth; the run's worker keeps it in step with the rows. */
export class FrontierStatistics {
  /** URLs that wait, by host. */
  readonly waiting = new Map<string, number>();
  /** Pages that wait or are leased, by depth. */
  readonly pages = new Map<number, number>();
  leasedPages = 0;
  leased = 0;
  /** URLs of any state. */
  total = 0;

  /** Counts the rows: once when a worker begins. */
  static async take(em: EntityManager, run_id: number): Promise<FrontierStatistics> {
    const statistics = new FrontierStatistics();
    const rows = await em.execute<
      { kind: UrlKind; host: string; depth: number; state: 'pending' | 'leased'; count: number }[]
    >(statisticsSql, [run_id]);
    for (const row of rows) statistics.#count({ ...row, rule: null }, row.count);
    const [all] = await em.execute<{ count: number }[]>(
      'select count(*)::integer as count from crawl_url where run_id = ?',
      [run_id],
    );
    statistics.total = all?.count ?? 0;
    return statistics;
  }

  /** Applies the moves of a committed transaction. */
  follow({ moves }: Pick<Ledger, 'moves'>): void {
    for (const { from, to, count } of moves) {
      if (from) this.#count(from, -count);
      else this.total += count;
      this.#count(to, count);
    }
  }

  /** @returns a copy with the moves applied */
  after(ledger: Pick<Ledger, 'moves'>): FrontierStatistics {
    const statistics = new FrontierStatistics();
    for (const [host, count] of this.waiting) statistics.waiting.set(host, count);
    for (const [depth, count] of this.pages) statistics.pages.set(depth, count);
    statistics.leasedPages = this.leasedPages;
    statistics.leased = this.leased;
    statistics.total = this.total;
    statistics.follow(ledger);
    return statistics;
  }

  #count({ kind, host, depth, state }: CountedUrl, change: number): void {
    if (state !== 'pending' && state !== 'leased') return;
    if (state === 'pending') bump(this.waiting, host, change);
    else this.leased += change;
    if (kind !== 'page') return;
    bump(this.pages, depth, change);
    if (state === 'leased') this.leasedPages += change;
  }

  get isEmpty(): boolean {
    return this.waiting.size === 0 && this.leased === 0;
  }

  /** Depth no URL beyond which may be claimed while a limit of depth holds: the least a page is left at; null: none is. */
  get frontDepth(): number | null {
    let least: number | null = null;
    for (const depth of this.pages.keys()) if (least === null || depth < least) least = depth;
    return least;
  }
}
