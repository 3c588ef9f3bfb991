import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../lru-size.ts';

/** A count is good for so many milliseconds. */
const age = 1_000;

const sql = `
  select count(*)::int as pending from (
    select 1 from execution e join project p on p.id = e.project_id
    where p.organization_id = ? and e.status = 'pending' limit ?) as open`;

/** How many executions of each organisation wait to begin. Counted once a second at most; what this process has accepted since is added. */
export class Backlog {
  readonly #orm: MikroORM;
  readonly #counts = new LRUCache<number, { at: number; pending: Promise<number>; accepted: number }>(upTo(10_000));

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  /** Whether an organisation has as many as it may. */
  async isFull(organization: number, limit: number): Promise<boolean> {
    let known = this.#counts.get(organization);
    if (!known || performance.now() - known.at > age) {
      const pending = this.#count(organization, limit);
      known = { at: performance.now(), pending, accepted: 0 };
      this.#counts.set(organization, known);
      pending.catch(() => this.#counts.delete(organization));
    }
    return (await known.pending) + known.accepted >= limit;
  }

  /** Told of each that was begun. */
  add(organization: number): void {
    const known = this.#counts.get(organization);
    if (known) known.accepted += 1;
  }

  async #count(organization: number, limit: number): Promise<number> {
    const [row] = await this.#orm.em.fork().execute<{ pending: number }[]>(sql, [organization, limit]);
    return row?.pending ?? 0;
  }
}
