import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../../../src/domain/projects/projects.operations.ts';
import { collectOutputs } from '../../../../src/domain/studio/deployments/collect-outputs.ts';
import { claimDeployment } from '../../../../src/domain/studio/deployments/run/work.ts';
import { conclude, publish } from '../../../../src/domain/studio/deployments/transitions.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { type Deployment, startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
let id: number;
beforeAll(async () => {
  await seed(running.app, { 'index.html': 'version 0' });
  ({ id } = await running.environment({ name: 'Live', branch: 'main', provider: 'static' }));
});

const day = 24 * 3600_000;
const environment = async () => (await running.app.ask('GET', `${studio}/environments/${id}`)).body;
const deployments = async () =>
  (await running.app.ask('GET', `${studio}/deployments?environment=${id}&per_page=100`)).body as Deployment[];
const commit = async (content: string) => {
  await seed(running.app, { 'index.html': content });
  await running.app.services.studio.moves.settled();
  await running.work();
};
const em = () => running.app.services.orm.em.fork();
const worker = async () => ({ process: await running.app.services.deployer.self(), command: null });

describe('what an environment shows', () => {
  it('goes back to an earlier deployment at once, and forward again', async () => {
    await commit('version 1');
    const [second, first] = await deployments();
    expect((await environment()).published_deployment_id).toBe(second.id);
    const back = await running.app.ask('PATCH', `${studio}/environments/${id}`, {
      body: { published_deployment_id: first.id },
    });
    expect([back.status, back.body.published_deployment_id]).toEqual([200, first.id]);
    expect((await running.app.ask('GET', `${studio}/deployments/${first.id}`)).body.published).toBe(true);
    await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { published_deployment_id: second.id } });
    expect((await environment()).published_deployment_id).toBe(second.id);
  });

  it('is never replaced by an older run, nor by one that was cancelled or given up', async () => {
    const { body: queued } = await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: id } });
    const [shown] = (await deployments()).filter(({ published }) => published);
    const claimed = await claimDeployment(running.app.services, await worker());
    expect(claimed?.id).toBe(queued.id);
    const done = { digest: 'a'.repeat(64), base: '', at: new Date() };
    const attempt = { id: queued.id, attempt: 1 };
    expect(await publish(em(), { ...attempt, attempt: 2 }, done)).toBe(false);
    await running.app.ask('POST', `${studio}/deployments/${queued.id}/cancel`);
    expect(await publish(em(), attempt, done)).toBe(false);
    expect(await conclude(em(), attempt, { conclusion: 'cancelled', at: new Date() })).toBe(true);
    expect(await conclude(em(), attempt, { conclusion: 'failure', at: new Date() })).toBe(false);
    expect((await environment()).published_deployment_id).toBe(shown.id);
    await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { auto_deploy: false } });
    const { body: older } = await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: id } });
    await claimDeployment(running.app.services, await worker());
    await em().execute('update deployment set run_number = 10000 where id = ?', [shown.id]);
    expect(await publish(em(), { id: older.id, attempt: 1 }, done)).toBe(true);
    expect((await environment()).published_deployment_id).toBe(shown.id);
    await em().execute('update deployment set run_number = 0 where id = ?', [shown.id]);
    await em().execute('update deployment set manifest_sha256 = null, output_digest = null where id = ?', [older.id]);
    await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { auto_deploy: true } });
  });
});

it('a newer commit ends a running deployment where that is wished', async () => {
  await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { cancel_superseded: true } });
  const { body: first } = await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: id } });
  await claimDeployment(running.app.services, await worker());
  await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: id } });
  const [row] = await em().execute('select status, cancel_requested from deployment where id = ?', [first.id]);
  expect(row).toEqual({ status: 'in_progress', cancel_requested: true });
  expect(await claimDeployment(running.app.services, await worker())).toBe(null);
  await conclude(em(), { id: first.id, attempt: 1 }, { conclusion: 'cancelled', at: new Date() });
  await running.work();
  await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { cancel_superseded: false } });
});

it('projects are served in turn', async () => {
  await running.app.run(createProject, { organization: 'acme', name: 'Other', machine_name: 'other' });
  await seed(running.app, { 'index.html': 'other' }, 'other');
  const start = async (project: string, name: string) => {
    const draft = { name, branch: 'main', provider: 'static' };
    const path = studio.replace('/site/', `/${project}/`);
    return (await running.app.ask('POST', `${path}/environments`, { body: draft })).body.latest_deployment.id;
  };
  const [a, b, c] = [await start('site', 'A'), await start('site', 'B'), await start('other', 'C')];
  const order: (number | undefined)[] = [];
  for (let next = 0; next < 3; next++) order.push((await claimDeployment(running.app.services, await worker()))?.id);
  expect(order).toEqual([c, a, b]);
  for (const one of [a, b, c])
    await conclude(em(), { id: one, attempt: 1 }, { conclusion: 'cancelled', at: new Date() });
});

it('outputs are kept while they are shown, young or among the last ten; the rest goes with its files', async () => {
  const { services, clock } = running.app;
  for (let version = 2; version < 14; version++) await commit(`version ${version}`);
  const before = (await deployments()).filter(({ conclusion, url }) => conclusion === 'success' && url);
  const oldest = before.at(-1);
  await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { published_deployment_id: oldest.id } });
  const kept = async () => (await deployments()).filter(({ url }) => url).map((one) => one.id);
  await collectOutputs(services);
  expect(await kept()).toEqual(before.map((one) => one.id));
  clock.now = new Date(Date.now() + 2 * day);
  await collectOutputs(services);
  clock.now = null;
  const left = await kept();
  expect(left).toEqual([...before.slice(0, 10).map((one) => one.id), oldest.id]);
  const digests = (await deployments()).filter(({ url }) => url).map(({ output_digest }) => output_digest);
  expect(await services.blobs.missing(digests)).toEqual(new Set());
  const gone = before.filter((one) => !left.includes(one.id));
  expect(gone.length).toBeGreaterThan(0);
  const [first] = gone;
  expect(
    (await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { published_deployment_id: first.id } }))
      .status,
  ).toBe(422);
  const unnamed = gone.map(({ output_digest }) => output_digest).filter((digest) => !digests.includes(digest));
  expect(await services.blobs.missing(unnamed)).toEqual(new Set(unnamed));
});
