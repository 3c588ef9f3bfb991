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

/** `Retry-After` while too many executions are pending, seconds. */
const backlogPatience = 10;

/** Quotas of genuine calls: how many a minute a webhook takes, and how many executions of an organisation may wait. */
export class Admission {
  readonly #rates: MinuteCounts;
  readonly #workflows: WorkflowServices['workflows'];

  constructor({ clock, workflows }: Pick<WorkflowServices, 'clock' | 'workflows'>) {
    this.#rates = new MinuteCounts(clock);
    this.#workflows = workflows;
  }

  /** @throws Refused when a quota is used up */
  async require({ id, organization_id, rate_limit, backlog }: WebhookTrigger): Promise<void> {
    if (rate_limit !== null) {
      const wait = this.#rates.wait(id, rate_limit);
      if (wait > 0) throw new Refused(webhookResponses.tooMany(wait), 'rate_limit');
      this.#rates.add(id);
    }
    const { limits, backlog: pending } = this.#workflows;
    if (await pending.isFull(organization_id, backlog ?? limits.backlog))
      throw new Refused(webhookResponses.tooMany(backlogPatience), 'backlog');
  }

  /** Counts an execution that was begun. */
  take({ organization_id }: WebhookTrigger): void {
    this.#workflows.backlog.add(organization_id);
  }
}
