import type { Response } from 'express';
import { DomainError } from '../kernel/errors.ts';

/** Seconds a request may take, by what it does. */
export const timeLimits = { query: 30, mutation: 120 } as const;

/** The end of the work for one request: its time is up, or the client has disconnected. */
export interface Deadline {
  signal: AbortSignal;
  /** What began, once it has; the kind of operation is known only after parsing. */
  readonly kind: keyof typeof timeLimits | undefined;
  /** Begins to count. */
  start(kind: keyof typeof timeLimits): void;
  /** Runs a piece of work, unless and until the deadline passes. @throws DomainError `request_timeout` */
  race<T>(work: () => Promise<T>): Promise<T>;
}

/** The deadline of the request that a response answers. `limits` are seconds. */
export function deadlineOf(response: Response, limits: Record<keyof typeof timeLimits, number> = timeLimits): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: NodeJS.Timeout | undefined;
  response.once('close', () => {
    clearTimeout(timer);
    if (!response.writableFinished) controller.abort(new DomainError('request_timeout', 'The client went away'));
  });
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  // A request that ends in time leaves this promise behind; one that does not has others waiting for it.
  aborted.catch(() => {});
  let begun: keyof typeof timeLimits | undefined;
  return {
    signal,
    get kind() {
      return begun;
    },
    start(kind) {
      begun = kind;
      const message = `The request took longer than ${limits[kind]} s and was given up`;
      timer = setTimeout(() => controller.abort(new DomainError('request_timeout', message)), limits[kind] * 1000);
    },
    async race(work) {
      signal.throwIfAborted();
      return Promise.race([work(), aborted]);
    },
  };
}
