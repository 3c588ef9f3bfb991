import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';

/** What is watched: a topic of a project, such as `branch main`. */
export const eventSubject = z.object({ project_id: z.int(), topic: z.string() });
export type EventSubject = z.output<typeof eventSubject>;

/** One event; `seq` counts those of its subject from 1. */
export interface FeedEvent {
  seq: number;
  data: unknown;
}

/** What a subject holds behind a position. */
export interface EventPage {
  events: FeedEvent[];
  /** Where to go on. */
  position: number;
  /** There are events behind that. */
  more: boolean;
  /** Events after the position are no longer stored, or it does not belong to this subject: their effect has to be read anew. */
  missed: boolean;
}

/** Events of one subject, in their order. */
export interface SubjectNews {
  subject: EventSubject;
  events: readonly object[];
  /** These are its first events: it cannot have a subscriber yet, so no notification is sent. */
  isNew?: boolean;
}

/** Durable events: any process may publish, any process may read, and a reader resumes at its position. */
export interface EventFeed {
  /**
   * Adds an event to a subject, in the transaction of `em` and under a lock on the subject that lasts as long, so that no reader passes an
   * event that is not committed yet. `next` gets the data of the event before (null: none is known) and answers with that of the new one;
   * undefined without one.
   */
  publish(
    em: EntityManager,
    subject: EventSubject,
    next: (last: unknown) => Promise<object | undefined> | object | undefined,
  ): Promise<void>;
  /**
   * Adds events to many subjects at once, in the transaction of `em`; each subject is named once. For who decides alone what comes next:
   * what was there before is not looked at. Locks the subjects like `publish`, in one order.
   */
  append(em: EntityManager, news: readonly SubjectNews[]): Promise<void>;
  /** Wakes the subscribers of a subject when the transaction of `em` commits. */
  announce(em: EntityManager, subject: EventSubject): Promise<void>;
  /** A few events after a position; null: only where the subject is now. */
  read(em: EntityManager, subject: EventSubject, after: number | null): Promise<EventPage>;
  /** Calls `wake` when there may be something new. That can be lost with a connection: look again from time to time too. @returns how to end it */
  watch(subject: EventSubject, wake: () => void): () => void;
  /** Aborted when this process stops: subscriptions end with a message to their clients. */
  closing: AbortSignal;
}
