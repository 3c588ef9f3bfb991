import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../../lib/version-cache.ts';

/** Milliseconds after which a count is taken anew at the earliest and at the latest. */
const age = { least: 1_000, most: 5_000 };
/** Milliseconds after which a count is not used any more. */
const oldest = 10_000;
/** Executions all other processes together hardly begin within a millisecond. */
const othersBegin = 10;

const sql = `
  select count(*)::int as pending from (
    select 1 from execution e join project p on p.id = e.project_id
    where p.organization_id = ? and e.status = 'pending' limit ?) as open`;

interface Known {
  /** When the counting began. */
  at: number;
  pending: number;
  /** What this process has accepted since. */
  accepted: number;
}

/**
 * How many executions of each organisation wait to begin. Counted once a second at most, and less often while there is room for many; what
 * this process has accepted since is added. To count many takes a while: calls go by the count before meanwhile, unless it would refuse them.
 */
export class Backlog {
  readonly #orm: Pick<MikroORM, 'em'>;
  readonly #known = new LRUCache<number, Known>(upTo(10_000));
  readonly #counting = new Map<number, Promise<Known>>();

  constructor(orm: Pick<MikroORM, 'em'>) {
    this.#orm = orm;
  }

  /** Whether an organisation has as many as it may. */
  async isFull(organization: number, limit: number): Promise<boolean> {
    const known = this.#known.get(organization);
    const old = known ? performance.now() - known.at : Number.POSITIVE_INFINITY;
    if (known && old <= ageOf(known, limit)) return isReached(known, limit);
    const counting = this.#count(organization, limit);
    if (known && old <= oldest && !isReached(known, limit)) {
      counting.catch(() => {});
      return false;
    }
    return isReached(await counting, limit);
  }

  /** Counts an execution that was begun. */
  add(organization: number): void {
    const known = this.#known.get(organization);
    if (known) known.accepted += 1;
  }

  /** Calls that come meanwhile share one count. */
  #count(organization: number, limit: number): Promise<Known> {
    const counting = this.#counting.get(organization) ?? this.#take(organization, limit);
    this.#counting.set(organization, counting);
    return counting.finally(() => this.#counting.delete(organization));
  }

  async #take(organization: number, limit: number): Promise<Known> {
    const at = performance.now();
    const before = this.#known.get(organization)?.accepted ?? 0;
    const [row] = await this.#orm.em.fork().execute<{ pending: number }[]>(sql, [organization, limit]);
    const accepted = (this.#known.get(organization)?.accepted ?? 0) - before;
    const known = { at, pending: row?.pending ?? 0, accepted: Math.max(0, accepted) };
    this.#known.set(organization, known);
    return known;
  }
}

const isReached = ({ pending, accepted }: Known, limit: number) => pending + accepted >= limit;

/** Milliseconds a count is good for: as long as others could not have taken all the room it left. To count takes longer the more there are. */
const ageOf = ({ pending, accepted }: Known, limit: number) =>
  Math.min(age.most, Math.max(age.least, (limit - pending - accepted) / othersBegin));
