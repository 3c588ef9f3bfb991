import type { EntityManager } from '@mikro-orm/postgresql';

/** The service's time. Tests inject one they move by hand. */
export interface Clock {
  now(): Date;
}

/** The time that all processes of the service share, however their own clocks go. */
export interface SharedClock {
  now(em: EntityManager): Promise<Date>;
  /** The last result without a new check, and its age by a monotonic clock. */
  recent(): Date;
}
