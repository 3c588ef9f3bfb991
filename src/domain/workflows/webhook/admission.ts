import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../../lib/version-cache.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { WebhookTrigger } from '../triggers/trigger-cache.ts';
import type { WorkflowServices } from '../workflows.ts';
import { Refused, webhookResponses } from './refusals.ts';

const minute = 60_000;
const most = 10_000;

/** Counts events by key within minutes. Per process. */
export class MinuteCounts {
  readonly #clock: Clock;
  readonly #windows = new LRUCache<string, { count: number; until: number }>(upTo(most));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #window(key: string) {
    const now = this.#clock.now().getTime();
    const known = this.#windows.get(key);
    if (known && known.until > now && known.until <= now + minute) return known;
    const fresh = { count: 0, until: now + minute };
    this.#windows.set(key, fresh);
    return fresh;
  }

  /** Seconds until a key may be counted again; 0: now. */
  wait(key: string, limit: number): number {
    const { count, until } = this.#window(key);
    return count < limit ? 0 : Math.max(1, Math.ceil((until - this.#clock.now().getTime()) / 1000));
  }

  add(key: string): void {
    this.#window(key).count += 1;
  }
}

/** Milliseconds after which a count is taken anew at the earliest and at the latest, and those after which it is not used any more. */
const age = { least: 1_000, most: 5_000 };
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
    if (known && old <= most && !isReached(known, limit)) {
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

/** `Retry-After` while too many executions are pending, seconds. */
const backlogPatience = 10;

/** Quotas of genuine calls: how many a minute a webhook takes, and how many executions of an organisation may wait. */
export class Admission {
  readonly #rates: MinuteCounts;
  readonly #backlog: Backlog;
  readonly #usualBacklog: number;

  constructor({ orm, clock, workflows }: Pick<WorkflowServices, 'orm' | 'clock' | 'workflows'>) {
    this.#rates = new MinuteCounts(clock);
    this.#backlog = new Backlog(orm);
    this.#usualBacklog = workflows.limits.backlog;
  }

  /** @throws Refused when a quota is used up */
  async require({ id, organization_id, rate_limit, backlog }: WebhookTrigger): Promise<void> {
    if (rate_limit !== null) {
      const wait = this.#rates.wait(id, rate_limit);
      if (wait > 0) throw new Refused(webhookResponses.tooMany(wait), 'rate_limit');
      this.#rates.add(id);
    }
    if (await this.#backlog.isFull(organization_id, backlog ?? this.#usualBacklog))
      throw new Refused(webhookResponses.tooMany(backlogPatience), 'backlog');
  }

  /** Counts an execution that was begun. */
  take({ organization_id }: WebhookTrigger): void {
    this.#backlog.add(organization_id);
  }
}
