import { vi } from 'vitest';

/** How often the event loop goes round while something is done, where each look at the clock takes a millisecond. */
export async function iterationsDuring(work: () => Promise<unknown>): Promise<number> {
  // What was measured by the clock before is over with its iteration.
  await new Promise((resolve) => setImmediate(resolve));
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1;
    return now;
  });
  let iterations = 0;
  let isOver = false;
  const other = () => {
    iterations += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  try {
    await work();
  } finally {
    isOver = true;
    clock.mockRestore();
    // What was measured by this clock is over, too.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return iterations;
}
