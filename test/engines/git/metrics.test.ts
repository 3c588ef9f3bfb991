import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/engines/metrics/prometheus.ts';
import { testStore, writerOne } from '../../support/git-store.ts';

it('count git processes and waiting writers', async () => {
  const metrics = createMetrics();
  onTestFinished(() => metrics.stop());
  const value = async (name: string) =>
    Number(
      (await metrics.render()).text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    );
  const { store } = testStore({ metrics });
  await store.check();
  expect(await value('portico_git_process_seconds_count{command="version"}')).toBe(1);
  expect(await value('portico_git_process_seconds_sum{command="version"}')).toBeGreaterThan(0);
  const repository = await store.create('site', 'main');
  const waiting: number[] = [];
  const write = () =>
    repository.write({
      branch: 'main',
      author: writerOne,
      plan: async () => {
        waiting.push(await value('portico_git_writers'));
        throw new Error('refused');
      },
    });
  await Promise.allSettled([write(), write(), write()]);
  expect(waiting[0]).toBe(3);
  expect(await value('portico_git_writers')).toBe(0);
});
