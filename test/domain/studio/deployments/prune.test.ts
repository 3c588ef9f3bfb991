import { beforeAll, expect, it } from 'vitest';
import { pruneDeployments } from '../../../../src/domain/studio/deployments/collect-outputs.ts';
import { getDeploymentLog } from '../../../../src/domain/studio/deployments/get-log.operations.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { type Deployment, startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
let environment: number;
let runs: Deployment[];
const day = 24 * 3600_000;

const sql = (text: string, values: unknown[] = []) => running.app.services.orm.em.fork().execute(text, values);
const list = async (): Promise<Deployment[]> =>
  (await running.app.ask('GET', `${studio}/deployments?environment=${environment}&per_page=100`)).body;
const prune = () => pruneDeployments(running.app.services, new AbortController().signal);
const at = async (time: number, work: () => Promise<void>) => {
  running.app.clock.now = new Date(time);
  await work();
  running.app.clock.now = null;
};
const log = (run: Deployment) => running.log(run, 'publish');
const isLeftOut = /^\[… \d+ bytes left out …\]\n$/;

beforeAll(async () => {
  await seed(running.app, { 'index.html': 'one' });
  environment = (await running.environment({ name: 'Live', branch: 'main', provider: 'static' })).id;
  for (const content of ['two', 'three', 'four']) {
    await seed(running.app, { 'index.html': content });
    await running.app.services.studio.moves.settled();
    await running.work();
  }
  runs = await list();
  // The first two are no longer kept, as those are that ten newer ones have followed, but the second is shown.
  const [, , second, first] = runs;
  await sql('update deployment set manifest_sha256 = null where id in (?, ?)', [first.id, second.id]);
  await sql('update environment set published_deployment_id = ? where id = ?', [second.id, environment]);
});

it('logs go thirty days after the end, and the log shows how much was removed', async () => {
  const [, , , first] = runs;
  const ended = Date.parse(first.completed_at);
  await at(ended + 30 * day, prune);
  expect(await log(first)).toContain('1 files, 1 of them new');
  await at(ended + 30 * day + 1, prune);
  expect(await log(first)).toMatch(isLeftOut);
  const job = first.jobs.at(-1).id;
  const requested = { organization: 'acme', project: 'site', deployment: first.id, job };
  expect(await running.app.run(getDeploymentLog, requested)).toMatchObject({ complete: true });
});

it('deployments go after a year, but for what is shown, what can be gone back to, and the newest', async () => {
  const [fourth, third, second, first] = runs;
  const ids = async () => (await list()).map(({ id }) => id);
  const ended = Date.parse(first.completed_at);
  await at(ended + 365 * day, prune);
  expect(await ids()).toEqual([fourth.id, third.id, second.id, first.id]);
  await at(ended + 365 * day + 1, prune);
  expect(await ids()).toEqual([fourth.id, third.id, second.id]);
  await at(ended + 400 * day, prune);
  expect(await ids()).toEqual([fourth.id, third.id, second.id]);
  for (const run of [fourth, third, second]) expect(await log(run)).toContain('1 files');
  // Of an environment whose outputs are not kept any more the newest still shows its state.
  await sql('update deployment set manifest_sha256 = null where environment_id = ?', [environment]);
  await sql('update environment set published_deployment_id = null where id = ?', [environment]);
  await at(ended + 400 * day, prune);
  expect(await ids()).toEqual([fourth.id]);
  await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment } });
  expect((await list())[0].run_number).toBe(fourth.run_number + 1);
});

it('nothing is removed after the abort signal', async () => {
  const stopped = AbortSignal.abort();
  await at(Date.now() + 800 * day, () => pruneDeployments(running.app.services, stopped));
  expect((await list()).length).toBe(2);
});
