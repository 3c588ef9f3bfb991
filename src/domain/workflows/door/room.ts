import type { Services } from '../../services.ts';
import type { DoorTrigger } from '../triggers/trigger-cache.ts';
import { Backlog } from './backlog.ts';
import { MinuteCounts } from './budgets.ts';
import { doorAnswers } from './door-answers.ts';
import { Refused } from './refused.ts';

/** Seconds a sender is told to wait while too many executions are pending. */
const backlogPatience = 10;

/** Quotas of genuine calls: how many a minute a webhook takes, and how many executions of an organisation may wait. */
export class Room {
  readonly #rates: MinuteCounts;
  readonly #backlog: Backlog;
  readonly #usualBacklog: number;

  constructor({ orm, clock, settings }: Pick<Services, 'orm' | 'clock' | 'settings'>) {
    this.#rates = new MinuteCounts(clock);
    this.#backlog = new Backlog(orm);
    this.#usualBacklog = settings.door.backlog;
  }

  /** @throws Refused when there is none */
  async require({ id, organization_id, rate_limit, backlog }: DoorTrigger): Promise<void> {
    if (rate_limit !== null) {
      const wait = this.#rates.wait(id, rate_limit);
      if (wait > 0) throw new Refused(doorAnswers.tooMany(wait), 'rate_limit');
      this.#rates.add(id);
    }
    if (await this.#backlog.isFull(organization_id, backlog ?? this.#usualBacklog))
      throw new Refused(doorAnswers.tooMany(backlogPatience), 'backlog');
  }

  /** Told of each execution that was begun. */
  take({ organization_id }: DoorTrigger): void {
    this.#backlog.add(organization_id);
  }
}
