import { beforeAll, expect, it } from 'vitest';
import { DeploymentJob } from '../../../../src/domain/studio/deployments/deployment.entity.ts';
import { readLog } from '../../../../src/domain/studio/deployments/get-log.operations.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
let job: DeploymentJob;
beforeAll(async () => {
  await seed(running.app, { 'index.html': 'one' });
  await running.environment({ name: 'Live', branch: 'main', provider: 'static' });
  await running.work();
  const [{ jobs }] = (await running.app.ask('GET', `${studio}/deployments`)).body;
  job = await running.app.services.orm.em.fork().findOneOrFail(DeploymentJob, jobs.at(-1).id);
});

const read = (row: DeploymentJob, offset: number) => readLog(running.app.services.orm.em.fork(), row, offset);

it('a job that was read before more of its log was stored brings nothing again', async () => {
  const { text, next_offset } = await read(job, 0);
  const older = Object.assign(Object.create(Object.getPrototypeOf(job)), job, { log_size: 1, status: 'in_progress' });
  expect(await read(older, 10)).toMatchObject({ text: text.slice(10), next_offset });
});

it('an offset beyond the end leads back to it', async () => {
  const { next_offset } = await read(job, 0);
  expect(await read(job, next_offset + 5)).toMatchObject({ text: '', next_offset, complete: true });
});
