import autocannon from 'autocannon';
import type { LoadOptions, LoadResult } from './load.ts';

/** Runs one load and sends the result to the parent; a process of its own, so that the measured server shares no event loop with it. */
process.once('message', async (options: LoadOptions) => {
  const { requests, latency, non2xx, errors, duration } = await autocannon(options);
  const result: LoadResult = {
    perSecond: requests.total / duration,
    answered: requests.total,
    p50: latency.p50,
    p99: latency.p99,
    max: latency.max,
    failed: non2xx + errors,
  };
  process.send?.(result, () => process.disconnect());
});
