import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';

/** A kind of background work: its queue's name and the shape of what it is given. */
export interface JobKind<Payload extends z.ZodType = z.ZodType> {
  name: string;
  payload: Payload;
  /** Times a failed run is tried again. */
  retries: number;
  /** Seconds after which a run counts as lost. */
  expireSeconds: number;
  /** `stately`: of each `singletonKey` at most one is queued, one waits for a retry and one runs. */
  policy?: 'stately';
}

/** The queue of background work. A job put in with `em` exists exactly when that transaction commits. */
export interface JobQueue {
  send<P extends z.ZodType>(
    kind: JobKind<P>,
    payload: z.input<P>,
    options?: {
      em?: EntityManager;
      singletonKey?: string;
      /** Of a group a process does only so many jobs at the same time as its kind allows. */
      group?: string;
      /** Seconds it waits before it is given to a worker. */
      delaySeconds?: number;
    },
  ): Promise<void>;
  /** Puts in many jobs of a kind at once. */
  sendMany<P extends z.ZodType>(
    kind: JobKind<P>,
    payloads: readonly z.input<P>[],
    options?: { em?: EntityManager },
  ): Promise<void>;
}
