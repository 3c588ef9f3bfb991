/**
 * Works on items as they come, a few at the same time. The first failure ends it, once everything that had begun is over: whoever catches it
 * may clear away what was worked on.
 * @param together how many at most
 */
export async function fewAtOnce<T>(
  items: Iterable<T> | AsyncIterable<T>,
  together: number,
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let index = 0;
  try {
    for await (const item of items) {
      const one = work(item, index++)
        .catch((error: unknown) => void failures.push(error))
        .then(() => void running.delete(one));
      running.add(one);
      if (running.size >= together) await Promise.race(running);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
}
