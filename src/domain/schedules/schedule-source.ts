import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../kernel/services.ts';
import type { Timing } from './next-fires.ts';
import type { ScheduleSourceName } from './schedule-fire.entity.ts';

/** A schedule with its next time. */
export interface TimedSchedule extends Timing {
  /** Its number or UUID, as text. */
  id: string;
  next_fire_at: Date;
}

/** A schedule as its row has it. */
export interface ScheduleRow extends Timing {
  id: number | string;
  next_fire_at: string | Date;
}

/** The schedule of a row, with what else was read with it. */
export const scheduleOf = <Row extends ScheduleRow>({ id, next_fire_at, ...rest }: Row) => ({
  ...rest,
  id: String(id),
  next_fire_at: new Date(next_fire_at),
});

/** A schedule at the time it fires for. */
export interface Fire<Due extends TimedSchedule> {
  schedule: Due;
  fire_at: Date;
}

/** What came of a fire. */
export type Started = { outcome: 'started'; started_id: string } | { outcome: 'skipped_overlap' };

/** How a schedule goes on. */
export interface NextFire {
  id: string;
  next_fire_at: Date | null;
  /** What it has started now; null: nothing. */
  started_id: string | null;
}

/** What has schedules, for the dispatcher; all of it happens in the transaction of `em`. */
export interface ScheduleSource<Due extends TimedSchedule = TimedSchedule> {
  name: ScheduleSourceName;
  /**
   * Takes schedules that are due, the longest waiting first, and locks them and whatever keeps others from starting the same; what is locked is passed over.
   * @param without schedules to leave alone
   */
  claim(em: EntityManager, now: Date, limit: number, without: readonly string[]): Promise<Due[]>;
  /** Whether any are due, including ones locked by other processes. */
  anyDue(em: EntityManager, now: Date, without: readonly string[]): Promise<boolean>;
  /**
   * Locks schedules whose next time lies ahead, in the order of their ids.
   * @param beyond the id after which to go on; null: from the first
   */
  ahead(em: EntityManager, now: Date, limit: number, beyond: string | null): Promise<TimedSchedule[]>;
  /**
   * Starts what schedules are for, those apart that must not overlap with what is there or with one before them.
   * @returns what came of each, in their order
   */
  start(em: EntityManager, services: Services, due: readonly Fire<Due>[]): Promise<Started[]>;
  /** Called for a fire that started nothing. */
  skipped(
    em: EntityManager,
    services: Services,
    schedule: Due,
    fire: { fire_at: Date; reason: 'overlap' | 'missed'; missed: number },
  ): Promise<void>;
  /** Sets when schedules are due next, and what they have started last. */
  setNext(em: EntityManager, next: readonly NextFire[]): Promise<void>;
}
