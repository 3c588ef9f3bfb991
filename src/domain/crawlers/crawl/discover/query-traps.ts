import type { EntityManager } from '@mikro-orm/postgresql';
import { QueryFanout, SameContent } from '../../urls/trap-counters.ts';

/** Rows read together. */
const page = 5_000;

/** Calendars, facets and echoes: what a run has met of queries without end. */
export class QueryTraps {
  readonly #fanout = new QueryFanout();
  readonly #same = new SameContent();
  readonly #told = new Set<string>();

  /** Counts again what a run came across before this process worked on it. */
  async recall(em: EntityManager, run_id: number): Promise<void> {
    for (let after = 0; ; ) {
      const rows = await em.execute<{ id: string; url: string; sha256: string | null }[]>(
        // A question mark in the text would be taken for a parameter.
        `select id, url, sha256 from crawl_url
         where run_id = ? and id > ? and strpos(url, chr(63)) > 0 and state <> 'skipped' order by id limit ${page}`,
        [run_id, after],
      );
      for (const { url, sha256 } of rows) {
        this.#fanout.admits(url);
        if (sha256 !== null) this.#same.add(url, sha256);
      }
      const last = rows.at(-1);
      if (!last || rows.length < page) return;
      after = Number(last.id);
    }
  }

  /** @returns the rule that leaves a URL out, and whether that has to be said: once for each path */
  rule(url: string): { rule: 'query_fanout' | 'same_content'; isFirst: boolean } | null {
    const rule = !this.#same.admits(url) ? 'same_content' : !this.#fanout.admits(url) ? 'query_fanout' : null;
    if (rule === null) return null;
    const path = `${rule} ${url.split('?', 1)[0]}`;
    const isFirst = !this.#told.has(path) && this.#told.size < 1_000;
    if (isFirst) this.#told.add(path);
    return { rule, isFirst };
  }

  /** Whether a URL in the frontier is still worth asking for. */
  admits(url: string): boolean {
    return this.#same.admits(url);
  }

  /** Takes note of what a URL answered with. */
  captured(url: string, sha256: string): void {
    this.#same.add(url, sha256);
  }
}
