import type { Log } from './domain/ports/log.ts';

/** A part that is waited for longer than this is named, milliseconds. */
const patience = 5_000;

/** Ends parts of a process one after another. One that takes long is named in the log: nobody could tell otherwise what a stop waits for. */
export async function endInOrder(
  log: Pick<Log, 'warn'>,
  parts: readonly (readonly [name: string, end: () => Promise<void> | void])[],
): Promise<void> {
  for (const [part, end] of parts) {
    const late = setTimeout(() => log.warn({ part }, 'the stop waits for a part that has not ended'), patience);
    try {
      await end();
    } finally {
      clearTimeout(late);
    }
  }
}
