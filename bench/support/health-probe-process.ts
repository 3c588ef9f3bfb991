import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** Asks an address again and again, over one connection, and reports the slowest answer since the last report. */
async function probe(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let slowest = 0;
  let began = performance.now();
  process.on('message', () => {
    // An answer that is still awaited has taken at least so long.
    process.send?.(Math.max(slowest, performance.now() - began));
    slowest = 0;
  });
  for (;;) {
    began = performance.now();
    await new Promise<void>((resolve) => {
      get(url, { agent }, (response) => response.resume().once('end', resolve)).once('error', () => resolve());
    });
    slowest = Math.max(slowest, performance.now() - began);
    began = Number.POSITIVE_INFINITY;
    await delay(2);
  }
}

void probe(process.argv[2] ?? '');
