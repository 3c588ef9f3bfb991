import type { HttpRequest, HttpTimeouts } from '../../domain/ports/http.ts';
import { httpFailure } from './failures.ts';

const defaults: Required<HttpTimeouts> = { connect: 10_000, headers: 30_000, idle: 15_000, total: 120_000 };

/** What bounds a call, its redirects and its body included. */
export interface Call {
  timeouts: Required<HttpTimeouts>;
  /** Aborted by the caller or by the whole call's time-out. */
  signal: AbortSignal;
  /** Stops the clock: the call is over. */
  end: () => void;
}

/** Starts the clock of a call. */
export function startCall(host: string, { signal, timeouts }: HttpRequest): Call {
  const limits = { ...defaults, ...timeouts };
  const clock = new AbortController();
  const late = () =>
    clock.abort(httpFailure('timeout', `${host}: the whole exchange took longer than ${limits.total} ms`));
  const timer = setTimeout(late, limits.total);
  const both = signal === undefined ? clock.signal : AbortSignal.any([signal, clock.signal]);
  return { timeouts: limits, signal: both, end: () => clearTimeout(timer) };
}
