import type { EntityManager } from '@mikro-orm/postgresql';

/** Locks that all processes of the service share, by name. */
export interface Locks {
  /**
   * Does something under a lock, and nothing when it is held, by this process or another one. It takes no connection of the pool. The lock ends
   * with the process, or with its connection to the database: what `work` writes must bear a second one beside it.
   * @returns what `work` returned; null when it was not called
   * @throws what `work` throws, or when the database is away
   */
  unlessHeld<Result>(name: string, work: () => Promise<Result>): Promise<{ result: Result } | null>;
  /** Takes the same lock until the end of a transaction. @returns false when it is held */
  tryUntilCommit(em: EntityManager, name: string): Promise<boolean>;
}
