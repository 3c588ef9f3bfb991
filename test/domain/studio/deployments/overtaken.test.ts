import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, expect, it } from 'vitest';
import { collectOutputs } from '../../../../src/domain/studio/deployments/collect-outputs.ts';
import { Deployment, DeploymentJob } from '../../../../src/domain/studio/deployments/deployment.entity.ts';
import { runDeployment } from '../../../../src/domain/studio/deployments/run/run-deployment.ts';
import { claimDeployment, recoverDeployments } from '../../../../src/domain/studio/deployments/run/work.ts';
import { timeOutReports } from '../../../../src/domain/studio/deployments/tick.ts';
import { concludeQueued, requeue } from '../../../../src/domain/studio/deployments/transitions.ts';
import { seed, shared, startTestApp, studio } from '../../../support/app.ts';
import { overtake, withBefore } from '../../../support/overtake.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, { 'public/index.html': 'x' }));

const em = () => app.services.orm.em.fork();
const rowOf = (id: number) => em().findOneOrFail(Deployment, id);
const workerOf = async () => ({ process: await app.services.deployer.self(), command: null });

/** Queues a deployment to a new environment. @returns its number */
async function queued(name: string, draft: object): Promise<number> {
  const body = { name, branch: 'main', auto_deploy: false, ...draft };
  const { body: environment } = await app.ask('POST', `${studio}/environments`, { body });
  const started = await app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment.id } });
  expect(started.status).toBe(202);
  return started.body.id;
}
const plain = { provider: 'static', output_directory: 'public' };

it('a deployment that is cancelled while a worker takes it is not begun', async () => {
  const id = await queued('Cancelled', plain);
  const worker = await workerOf();
  const cancel = (within: EntityManager) => concludeQueued(within, id, { conclusion: 'cancelled', at: new Date() });
  expect(await overtake(app, cancel, () => claimDeployment(app.services, worker))).toBeNull();
  expect(await rowOf(id)).toMatchObject({ status: 'completed', conclusion: 'cancelled', worker: null });
});

it('a worker that was given up leaves the jobs of the one that came after it', async () => {
  const id = await queued('Taken over', plain);
  const worker = await workerOf();
  const lost = await claimDeployment(app.services, worker);
  if (!lost) throw new Error('there was none to claim');
  expect(await requeue(em(), lost, 2)).toBe(true);
  await claimDeployment(app.services, worker);
  const jobs = () => em().find(DeploymentJob, { deployment_id: id }, { orderBy: { position: 'asc' } });
  const [first] = await jobs();
  await em().nativeUpdate(DeploymentJob, { id: first?.id ?? 0 }, { status: 'in_progress' });
  const before = await jobs();
  await runDeployment(app.services, lost, worker);
  expect(await jobs()).toEqual(before);
  expect(await rowOf(id)).toMatchObject({ status: 'in_progress', attempt: 2, isolation: null });
});

it('a provider that reports just before its time is over is not given up', async () => {
  const hook = { provider: 'webhook', deploy_webhook_url: 'https://provider.test/', timeout_seconds: 60 };
  const id = await queued('Slow', hook);
  const report = async () =>
    expect(await app.ask('PATCH', `${studio}/deployments/${id}`, { body: { status: 'in_progress' } })).toMatchObject({
      status: 200,
    });
  await report();
  app.clock.now = new Date(Date.now() + 61_000);
  const fork = () => withBefore(em(), 'transactional', report);
  await timeOutReports({ ...app.services, orm: { em: { fork } } as never });
  expect(await rowOf(id)).toMatchObject({ status: 'in_progress', failure_reason: null });
  app.clock.now = new Date(Date.now() + 200_000);
  await timeOutReports(app.services);
  expect(await rowOf(id)).toMatchObject({ status: 'completed', failure_reason: 'provider_timeout' });
});

it('a request whose job was lost is sent again though the clock was set back', async () => {
  const hook = { provider: 'webhook', deploy_webhook_url: 'https://provider.test/', timeout_seconds: 60 };
  const id = await queued('Lost', hook);
  const sent: unknown[] = [];
  const jobs = { ...app.services.jobs, send: async (_kind: unknown, payload: unknown) => void sent.push(payload) };
  app.clock.now = new Date(Date.now() - 3_600_000);
  await timeOutReports({ ...app.services, jobs });
  app.clock.now = null;
  expect(sent).toEqual([expect.objectContaining({ deployment_id: id, event: 'deployment.requested' })]);
});

it('an output that is gone back to while old ones are let go of stays', async () => {
  const first = await queued('Back', plain);
  const { environment_id } = await rowOf(first);
  const old = new Date(Date.now() - 48 * 3600_000);
  const made = {
    status: 'completed',
    conclusion: 'success',
    manifest_sha256: 'a'.repeat(64),
    completed_at: old,
  } as const;
  for (let at = 0; at < 11; at += 1) await app.ask('POST', `${studio}/deployments`, { body: { environment_id } });
  await em().nativeUpdate(Deployment, { environment_id }, made);
  // As the operation does: what it is about to show is held.
  const show = async (within: EntityManager) => {
    await within.execute('select 1 from deployment where id = ? for share', [first]);
    await within.execute('update environment set published_deployment_id = ? where id = ?', [first, environment_id]);
  };
  await overtake(app, show, () => collectOutputs(app.services).catch(() => {}));
  expect(await rowOf(first)).toMatchObject({ manifest_sha256: made.manifest_sha256 });
  await em().execute('update environment set published_deployment_id = null where id = ?', [environment_id]);
  const forget = (within: EntityManager) => within.nativeUpdate(Deployment, { id: first }, { manifest_sha256: null });
  const body = { published_deployment_id: first };
  const answer = await overtake(app, forget, () =>
    app.ask('PATCH', `${studio}/environments/${environment_id}`, { body }),
  );
  expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } });
});

/** A deployment whose worker has died, with what it has left. */
async function lost(name: string): Promise<number> {
  const id = await queued(name, { provider: 'build', install_command: 'true', build_command: 'true' });
  const process = { pid: 1, started: 'before', machine: (await app.services.deployer.self()).machine };
  expect((await claimDeployment(app.services, { process, command: null }))?.id).toBe(id);
  await openWorkspace(id);
  return id;
}
const openWorkspace = (deployment: number) => app.services.deployer.open({ deployment, project: 'site' });
const leave = (id: number) =>
  em().nativeUpdate(Deployment, { id }, { status: 'completed', conclusion: 'cancelled', worker: null });

it('what was lost and has begun anew is not cleared away by who comes late', async () => {
  const id = await lost('Begun anew');
  const begin = async () => {
    await recoverDeployments(app.services);
    expect((await claimDeployment(app.services, await workerOf()))?.id).toBe(id);
    await openWorkspace(id);
  };
  const deployer = withBefore(app.services.deployer, 'standing', begin);
  await recoverDeployments({ ...app.services, deployer });
  expect(await app.services.deployer.workspaces()).toContain(id);
  expect(await rowOf(id)).toMatchObject({ status: 'in_progress', attempt: 2 });
  expect(app.log.filter((line) => line.includes('was lost') && line.includes(`"deployment":${id},`))).toHaveLength(1);
  await leave(id);
});

it('what cannot be cleared away keeps nothing else from its turn', async () => {
  const id = await lost('Stuck');
  const stuck = { ...app.services.deployer, clear: () => Promise.reject(new Error('cannot be removed')) };
  await recoverDeployments({ ...app.services, deployer: stuck });
  expect(app.log.filter((line) => line.includes('could not be cleared away'))).not.toEqual([]);
  expect(await rowOf(id)).toMatchObject({ status: 'in_progress', attempt: 1 });
  await recoverDeployments(app.services);
  expect(await rowOf(id)).toMatchObject({ attempt: 2 });
  await leave(id);
});

it('what is begun while remains are cleared away is none of them', async () => {
  const id = await lost('Just begun');
  expect(await requeue(em(), { id, attempt: 1 }, 2)).toBe(true);
  const worker = await workerOf();
  const begin = (within: EntityManager) => within.nativeUpdate(Deployment, { id }, { status: 'in_progress', worker });
  await overtake(app, begin, () => recoverDeployments(app.services));
  expect(await app.services.deployer.workspaces()).toContain(id);
  await leave(id);
});
