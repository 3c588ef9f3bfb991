import { setTimeout as delay } from 'node:timers/promises';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { calm, computed } from './support/calm.ts';
import { jsonOf, signed, startHooked } from './support/hooked.ts';
import { load } from './support/load.ts';
import { timed } from './support/statistics.ts';

/** One waits for a person, and all others for it. */
const definition = `
portico: workflow/1
concurrency: {limit: 1}
steps:
  - {id: ask, type: wait_for_input, message: Go on?, timeout: 30d}
`;
/** 350 MB. */
const atMost = 350e6 / 2 ** 20;
/** Milliseconds it is watched at rest. */
const idleTime = 30_000;

/** Many executions that wait for their turn. */
export const history: Benchmark = {
  name: 'history',
  summary: 'Memory, list and idling of a server with 100,000 queued executions, begun by webhook calls.',
  async run(bench) {
    const amount = bench.scaled(100_000);
    const { server, endpoint, secret, read, count } = await startHooked(bench, { environment: {}, definition });
    const before = await server.memory();
    const body = jsonOf(1024);
    await load({
      url: endpoint,
      connections: 32,
      duration: 0,
      amount,
      method: 'POST',
      headers: signed(secret, body),
      body,
    });
    check((await count('pending')) >= amount - 1, 'not all executions wait');
    bench.say(`${amount} wait`);
    // What has been given to the worker goes back into the queue of its workflow.
    const queued = await calm(server.pid);
    const value = await server.memory();
    const pages: number[] = [];
    for (let page = 0; page < 50; page += 1) pages.push(await timed(() => read('/executions?per_page=30')));
    const began = await computed(server.pid);
    await delay(idleTime);
    const idle = (await computed(server.pid)) - began;
    return {
      cases: [
        {
          name: 'resident memory',
          unit: 'MiB',
          value,
          atMost,
          peers: [{ name: 'the same server before', value: before }],
        },
        { name: 'most memory since the start', unit: 'MiB', value: await server.peakMemory() },
        timedCase('first page of the list', pages),
        { name: 'idle, one core', unit: '%', value: (100_000 * idle) / idleTime, atMost: 2 },
        { name: 'until the last one is queued', unit: 's', value: queued / 1000 },
      ],
      notes: [`${amount} executions accepted at the webhook from 32 connections; all but one wait for a slot.`],
    };
  },
};
