import { beforeAll, describe, expect, it } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  await seed(app, {
    'package.json': JSON.stringify({ scripts: { build: 'astro build' }, dependencies: { astro: '^5.0.0' } }),
    'package-lock.json': '{"lockfileVersion": 3}',
    'astro.config.mjs': 'export default {};',
  });
  await app.ask('POST', `${studio}/branches`, { body: { name: 'draft/page' } });
});

const create = (body: object) => app.ask('POST', `${studio}/environments`, { body });
const change = (id: number, body: object) => app.ask('PATCH', `${studio}/environments/${id}`, { body });
const deployments = async (id: number) => (await app.ask('GET', `${studio}/deployments?environment=${id}`)).body;

describe('POST', () => {
  it('201: what is not said follows from the framework and the branch, and is echoed', async () => {
    const { status, body, headers } = await create({ name: 'Live Site', branch: 'main' });
    expect([status, headers.get('location')]).toEqual([201, `${studio}/environments/${body.id}`]);
    expect(body).toMatchObject({
      name: 'Live Site',
      slug: 'live-site',
      type: 'production',
      provider: 'build',
      root_directory: '',
      install_command: 'npm ci',
      build_command: 'npm run build',
      output_directory: 'dist',
      variables: [],
      network: 'full',
      timeout_seconds: 900,
      auto_deploy: true,
      cancel_superseded: false,
      visibility: 'members',
      protected: false,
      published_deployment_id: null,
      deploy_hook_secret: null,
      latest_deployment: { status: 'queued', conclusion: null, branch: 'main', trigger: 'manual', run_number: 1 },
    });
    expect(body.url).toMatch(/^http:\/\/live-site-[0-9a-f]{8}\.localhost:\d+/);
  });

  it('201: other branches are previews; two names with one slug get two', async () => {
    const first = await create({ name: 'Préview: page', branch: 'draft/page', auto_deploy: false });
    const second = await create({ name: 'preview page', branch: 'draft/page', auto_deploy: false });
    expect([first.body.type, first.body.slug, second.body.slug]).toEqual(['preview', 'preview-page', 'preview-page-2']);
    expect(first.body.latest_deployment).toBe(null);
  });

  it('201: deploy decides about the first deployment, auto_deploy about those of later commits', async () => {
    const { tickDeployments } = await import('../../src/domain/studio/deployments/tick.ts');
    const once = await create({ name: 'Once', branch: 'main', auto_deploy: false, deploy: true });
    expect(once.body).toMatchObject({ auto_deploy: false, latest_deployment: { status: 'queued', trigger: 'manual' } });
    const later = await create({ name: 'Later', branch: 'main', deploy: false });
    await tickDeployments(app.services);
    expect(later.body).toMatchObject({ auto_deploy: true, latest_deployment: null });
    expect(await deployments(later.body.id)).toEqual([]);
  });

  it.each([
    ['400', { branch: 'main' }, 'invalid_request', 'name'],
    ['400', { name: 'a', branch: 'main', timeout_seconds: 59 }, 'invalid_request', 'timeout_seconds'],
    ['400', { name: 'a', branch: 'main', timeout_seconds: 3601 }, 'invalid_request', 'timeout_seconds'],
    ['400', { name: 'a', branch: 'main', output_directory: '../etc' }, 'invalid_request', 'output_directory'],
    ['400', { name: 'a', branch: 'main', variables: [{ name: '1A', value: '' }] }, 'invalid_request', 'variables'],
    [
      '400',
      { name: 'a', branch: 'main', variables: [{ name: 'PATH', value: '/' }] },
      'invalid_request',
      'variables.0.name',
    ],
    [
      '400',
      { name: 'a', branch: 'main', variables: [{ name: 'PORTICO_URL', value: '' }] },
      'invalid_request',
      'variables.0.name',
    ],
    ['404', { name: 'a', branch: 'nowhere' }, 'not_found', 'branch'],
    ['409', { name: 'Live Site', branch: 'main' }, 'already_exists', 'name'],
    ['409', { name: 'live SITE', branch: 'main' }, 'already_exists', 'name'],
    ['422', { name: 'a', branch: 'main', provider: 'webhook' }, 'validation_failed', 'deploy_webhook_url'],
    [
      '400',
      { name: 'a', branch: 'main', deploy_webhook_url: 'https://me:key@a.test/' },
      'invalid_request',
      'deploy_webhook_url',
    ],
    ['422', { name: 'a', branch: 'main', variables: [{ name: 'A' }] }, 'validation_failed', 'variables.0.value'],
  ])('%s: %j', async (status, body, code, field) => {
    const answer = await create(body);
    expect([String(answer.status), answer.body.code]).toEqual([status, code]);
    expect(answer.body.message.startsWith(field)).toBe(true);
  });

  it('takes time-outs of 60 and 3600 seconds', async () => {
    for (const timeout_seconds of [60, 3600])
      expect(
        (await create({ name: `T ${timeout_seconds}`, branch: 'main', timeout_seconds, auto_deploy: false })).status,
      ).toBe(201);
  });

  it('403 without manage_studio, whatever else a token may do', async () => {
    const token = await app.makeToken(permissionNames.filter((name) => name !== 'manage_studio'));
    const draft = { name: 'b', branch: 'main', build_command: 'true' };
    expect((await app.ask('POST', `${studio}/environments`, { token, body: draft })).status).toBe(403);
    expect((await app.ask('PATCH', `${studio}/environments/1`, { token, body: { build_command: 'x' } })).status).toBe(
      403,
    );
  });
});

describe('PATCH', () => {
  it('200: leaves what it does not name, and keeps the value of a variable given without one', async () => {
    const { body } = await create({
      name: 'Variables',
      branch: 'main',
      auto_deploy: false,
      variables: [
        { name: 'A', value: 'x', secret: false },
        { name: 'B', value: 'y' },
      ],
    });
    const changed = await change(body.id, { variables: [{ name: 'B' }], visibility: 'public' });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        visibility: 'public',
        build_command: 'npm run build',
        variables: [{ name: 'B', secret: true, value: null }],
      },
    });
    expect((await change(body.id, { variables: [{ name: 'B', secret: false }] })).status).toBe(422);
  });

  it('409 for a name another one has, 404 for a branch or deployment that is not there', async () => {
    const [first, second] = (await app.ask('GET', `${studio}/environments`)).body;
    for (const name of [first.name, first.name.toUpperCase()]) {
      const { status, body } = await change(second.id, { name });
      expect([status, body.code, body.message]).toEqual([409, 'already_exists', expect.stringMatching(/^name: /)]);
    }
    expect((await change(second.id, { branch: 'nowhere' })).status).toBe(404);
    expect((await change(second.id, { published_deployment_id: 999 })).status).toBe(404);
    expect((await change(first.id, { published_deployment_id: first.latest_deployment.id })).status).toBe(422);
  });

  it('200 for its own name in another case, and for names that were alike before', async () => {
    const { body } = await create({ name: 'Staging', branch: 'main', auto_deploy: false });
    expect(await change(body.id, { name: 'staging' })).toMatchObject({ status: 200, body: { name: 'staging' } });
    const other = await create({ name: 'Another', branch: 'main', auto_deploy: false });
    await app.services.orm.em.fork().execute(`update environment set name = 'STAGING' where id = ?`, [other.body.id]);
    expect((await change(other.body.id, { name: 'STAGING', branch: 'draft/page' })).status).toBe(200);
    expect((await change(other.body.id, { name: 'Staging' })).status).toBe(409);
  });
});

describe('deployments of an environment', () => {
  it('a newer one takes the place of the one that waits; run numbers count per project', async () => {
    const { body } = await create({ name: 'Busy', branch: 'main' });
    const { body: newer, status } = await app.ask('POST', `${studio}/deployments`, {
      body: { environment_id: body.id },
    });
    expect(status).toBe(202);
    const [last, first] = await deployments(body.id);
    expect(last).toMatchObject({ id: newer.id, status: 'queued', run_number: first.run_number + 1 });
    expect(first).toMatchObject({ status: 'completed', conclusion: 'skipped', started_at: null });
    expect(first.jobs.every(({ conclusion }: { conclusion: string }) => conclusion === 'skipped')).toBe(true);
  });

  it('is requested only for commits of its branch', async () => {
    const [environment] = (await app.ask('GET', `${studio}/environments`)).body;
    const start = (commit_sha: string) =>
      app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment.id, commit_sha } });
    expect((await start('0'.repeat(40))).status).toBe(404);
    const git = await app.repository();
    const before = (await git.head('main')) ?? '';
    await seed(app, { 'later.txt': 'x' });
    await git.createBranch('other', (await git.head('main')) ?? '');
    expect((await start(before)).status).toBe(202);
    await app.services.studio.moves.settled();
  });

  it('is queued once for a commit that comes to the branch, whichever check is first', async () => {
    const { tickDeployments } = await import('../../src/domain/studio/deployments/tick.ts');
    const { body } = await create({ name: 'Followed', branch: 'main' });
    const sha = await seed(app, { 'auto.txt': 'x' });
    await Promise.all([
      tickDeployments(app.services),
      app.services.studio.moves.settled(),
      tickDeployments(app.services),
    ]);
    const [newest, ...older] = await deployments(body.id);
    expect(newest).toMatchObject({ commit_sha: sha, trigger: 'commit', title: 'Seed' });
    expect(older.length).toBe(1);
  });

  it('is queued by the tick when no process had followed the branch', async () => {
    const { tickDeployments } = await import('../../src/domain/studio/deployments/tick.ts');
    const { body } = await create({ name: 'Missed', branch: 'main', auto_deploy: false });
    await app.services.orm.em.fork().execute('update environment set auto_deploy = true where id = ?', [body.id]);
    await tickDeployments(app.services);
    await tickDeployments(app.services);
    expect((await deployments(body.id)).length).toBe(1);
  });
});

describe('DELETE', () => {
  it('409 protected until it is unprotected, whatever is forced', async () => {
    const { body } = await create({ name: 'Guarded', branch: 'main', protected: true, auto_deploy: false });
    const remove = (query = '') => app.ask('DELETE', `${studio}/environments/${body.id}${query}`);
    expect(await remove('?force=true')).toMatchObject({ status: 409, body: { code: 'protected' } });
    await change(body.id, { protected: false });
    expect((await remove()).status).toBe(204);
    expect((await remove()).status).toBe(404);
  });

  it('409 in_use while something waits or runs, 204 with force', async () => {
    const { body } = await create({ name: 'In use', branch: 'main' });
    const at = `${studio}/environments/${body.id}`;
    const refused = await app.ask('DELETE', at);
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'in_use', details: { deployments: [body.latest_deployment.id] } },
    });
    expect((await app.ask('DELETE', `${at}?force=true`)).status).toBe(204);
    expect((await app.ask('GET', `${studio}/deployments/${body.latest_deployment.id}`)).status).toBe(404);
  });
});

it('404 for what is not there, and for another project’s', async () => {
  expectRefusal(await app.ask('GET', `${studio}/environments/999`), 404, 'not_found', 'Environment 999 not found');
  expectRefusal(await app.ask('GET', `${studio}/deployments/999`), 404, 'not_found', 'Deployment 999 not found');
  expect((await app.ask('GET', `${studio}/deployments/latest?environment=999`)).status).toBe(404);
  expect((await app.ask('GET', `${studio}/deployments/1/jobs/999/log`)).status).toBe(404);
});

it('404 for another spelling of a number in the path, which in a query is read as one', async () => {
  const { body } = await create({ name: 'Spelled', branch: 'main' });
  const id: number = body.id;
  const deployment: number = body.latest_deployment.id;
  for (const spell of [(number: number) => `0${number}`, (number: number) => `${number}.0`]) {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const answer = await app.ask(method, `${studio}/environments/${spell(id)}`);
      expectRefusal(answer, 404, 'not_found', 'Environment not found');
    }
    const answer = await app.ask('GET', `${studio}/deployments/${spell(deployment)}`);
    expectRefusal(answer, 404, 'not_found', 'Deployment not found');
    expect((await app.ask('GET', `${studio}/deployments/latest?environment=${spell(id)}`)).body.id).toBe(deployment);
  }
  expect((await app.ask('GET', `${studio}/environments/${id}`)).status).toBe(200);
});
