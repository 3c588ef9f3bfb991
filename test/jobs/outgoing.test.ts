import { expect, it } from 'vitest';
import type { AllServices } from '../../src/domain/services.ts';
import {
  deployNoticeJobFor,
  importJobFor,
  notifyJobFor,
  snapshotImportJobFor,
  syncJobFor,
} from '../../src/jobs/job-handlers.ts';
import { createQueue, type Job } from '../../src/jobs/queue.ts';
import { createDatabase, empty } from '../support/postgres.ts';

// The handlers below take the place of what uses them.
const services = {} as AllServices;
const quiet = { info() {}, warn() {}, error() {}, debug() {} } as unknown as Parameters<typeof createQueue>[0]['log'];

it('jobs of one group that take long leave those of others room', async () => {
  const database = await createDatabase(empty);
  const queue = createQueue({ url: database.url, log: quiet });
  const begun: [string, string][] = [];
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const makers = [importJobFor, syncJobFor, notifyJobFor, deployNoticeJobFor, snapshotImportJobFor];
  const jobs = makers.map((make): Job => {
    const job = make(services) as Job;
    return {
      ...job,
      async handle(payload) {
        const id = Object.values(payload as object).find((value) => typeof value === 'number');
        begun.push([job.kind.name, id === 9 ? 'other' : 'slow']);
        if (id !== 9) await answered;
      },
    };
  });
  // Each kind takes what it has of it.
  const payloadOf = (id: number) => ({
    ...{ project_id: id, notification_id: id, deployment_id: id, import_id: id },
    ...{ url: 'https://slow.test/x.git', event: 'deployment.requested' },
  });
  try {
    await queue.start({ kinds: jobs.map(({ kind }) => kind), jobs });
    for (const { kind } of jobs) {
      for (const id of [1, 2, 3, 4]) await queue.send(kind, payloadOf(id), { group: 'slow', singletonKey: `${id}` });
      await queue.send(kind, payloadOf(9), { group: 'other', singletonKey: '9' });
    }
    await expect.poll(() => begun.filter(([, whose]) => whose === 'other')).toHaveLength(jobs.length);
    for (const { kind } of jobs)
      expect(begun.filter(([name, whose]) => name === kind.name && whose === 'slow').length).toBeLessThanOrEqual(2);
  } finally {
    answer();
    await queue.stop(10);
    await database.drop();
  }
});
