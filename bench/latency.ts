import { setTimeout as delay } from 'node:timers/promises';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { jsonOf, signed, startHooked } from './support/hooked.ts';
import { quantile } from './support/statistics.ts';

const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: transform, expression: input.method}\n';

interface Shown {
  finished_at: string | null;
  steps: { started_at: string | null }[];
}

/** How soon something happens on a server that has nothing to do. */
export const latency: Benchmark = {
  name: 'latency',
  summary: 'From a webhook call on an idle server until its first step begins.',
  async run(bench) {
    const { endpoint, secret, read } = await startHooked(bench, { environment: {}, definition });
    const body = jsonOf(1024);
    const headers = signed(secret, body);
    const sinceAnswer: number[] = [];
    const sinceCall: number[] = [];
    const count = bench.scaled(200, 10);
    for (let made = -5; made < count; made += 1) {
      // The queue looks every two seconds; calls come at every moment between.
      await delay(20 + Math.abs((made * 37) % 100));
      const called = Date.now();
      const response = await fetch(endpoint, { method: 'POST', headers, body });
      const answered = Date.now();
      check(response.status === 202, `The webhook answers ${response.status}`);
      const { executionId } = (await response.json()) as { executionId: string };
      let shown: Shown;
      do {
        await delay(20);
        shown = (await read(`/executions/${executionId}`)) as Shown;
      } while (shown.finished_at === null);
      const began = Date.parse(shown.steps[0]?.started_at ?? '');
      if (made < 0) continue;
      sinceCall.push(began - called);
      sinceAnswer.push(Math.max(0, began - answered));
    }
    return {
      cases: [
        timedCase('answer 202 until the first step begins', sinceAnswer, { atMost: 15 }),
        { name: 'the same, p99', unit: 'ms', value: quantile(sinceAnswer, 0.99), atMost: 50 },
        timedCase('call sent until the first step begins', sinceCall),
      ],
      notes: [
        `${count} calls, one after another; web and worker in one process, PostgreSQL with fsync beside it.`,
        'By the clock of the machine, whole milliseconds; a step that begins before its caller has the answer counts as 0.',
      ],
    };
  },
};
