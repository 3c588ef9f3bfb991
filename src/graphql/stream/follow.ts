import { createHash } from 'node:crypto';
import { Pace } from '../../lib/concurrency.ts';
import { Notifier } from '../../lib/timing.ts';
import type { GraphqlContext } from '../context.ts';

/** The event of a source of which only the present state counts: its position is a hash of the state, so a client that has it gets nothing. */
export function stateNews<T>(after: string | null, state: T, ended: boolean): News<T> {
  const position = createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 16);
  return { events: position === after ? [] : [{ position, data: state }], ended };
}

/** What is new behind a position. */
export interface News<T> {
  events: readonly { position: string; data: T }[];
  /** Where to go on, when that is further than the last event. */
  position?: string;
  /** Events before these are lost. */
  missed?: boolean;
  /** There is more already: it is read as soon as the client has taken this. */
  more?: boolean;
  /** Nothing will follow. */
  ended?: boolean;
}

/** Something that is watched. */
export interface Source<T> {
  /** Reads the news with an operation, so that the caller's rights are checked each time. `after` null: the stream begins. */
  read(after: string | null): Promise<News<T>>;
  /** Calls `wake` when there may be something new; called after the first reading. @returns a function that ends it */
  watch(wake: () => void): () => void;
  /** Notifications are not lost on the way: without one it is only looked whether the caller still may read. */
  looksRarely?: true;
}

/** Looks of others for one of a source that looks rarely: rights are checked again every half minute. */
const rarely = 15;

/**
 * The events of a source for one subscription: those behind the client's position, then each as it happens, until the source, the client or the
 * server ends. Where events are lost, null means that the client has to read the state anew. Nothing is read ahead of the client. A client may be a
 * thousand events behind, and a change may wake hundreds of streams: between them all else has its turn.
 */
export async function* follow<T>(context: GraphqlContext, source: Source<T>): AsyncGenerator<T | null> {
  const { stream } = context;
  const notifier = new Notifier();
  const pace = new Pace();
  let unwatch: (() => void) | undefined;
  stream.signal.addEventListener('abort', notifier.notify);
  try {
    let { after } = stream;
    while (!stream.signal.aborted) {
      if (pace.isDue) await pace.yield();
      await context.renew();
      const { events, position, missed = false, more = false, ended = false } = await source.read(after);
      if (missed) {
        Object.assign(stream, { position: position ?? null, refetch: true });
        yield null;
      }
      for (const event of events) {
        if (stream.signal.aborted) return;
        Object.assign(stream, { position: event.position, refetch: false });
        yield event.data;
        if (pace.isDue) await pace.yield();
      }
      after = position ?? events.at(-1)?.position ?? after;
      if (ended) return;
      if (more) continue;
      if (unwatch === undefined) {
        // What came between the reading and the watching is read now.
        unwatch = source.watch(notifier.notify);
        notifier.notify();
      }
      await notifier.wait(source.looksRarely ? rarely * stream.pollEvery : stream.pollEvery);
    }
  } finally {
    stream.signal.removeEventListener('abort', notifier.notify);
    unwatch?.();
  }
}
