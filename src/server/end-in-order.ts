import type { Log } from '../ports/log.ts';

/** A part of a process, with how it is ended. */
export type EndingPart = readonly [name: string, end: () => Promise<void> | void];

/** A part that is waited for longer than this is named, milliseconds. */
const patience = 5_000;

/** Ends parts of a process one after another. One that takes long is named in the log, to show what the stop waits for. */
export async function endInOrder(log: Pick<Log, 'warn'>, parts: readonly EndingPart[]): Promise<void> {
  for (const [part, end] of parts) {
    const late = setTimeout(() => log.warn({ part }, 'the stop waits for a part that has not ended'), patience);
    try {
      await end();
    } finally {
      clearTimeout(late);
    }
  }
}
