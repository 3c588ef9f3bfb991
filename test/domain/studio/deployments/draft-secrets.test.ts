import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { seed, shared, studio } from '../../../support/app.ts';
import { commitTo } from '../../../support/conflict-site.ts';
import { buildDraft, builtSite, plainBuild, startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
let live: number;
beforeAll(async () => {
  await seed(running.app, builtSite(plainBuild));
  const variables = [
    { name: 'PRODUCTION_KEY', value: 'p-7f3a9c', available_in_install: true },
    { name: 'DRAFT_KEY', value: 'd-4be1', available_in_drafts: true },
  ];
  ({ id: live } = await running.environment({
    ...{ name: 'Live', branch: 'main', install_command: 'true', variables },
    ...buildDraft,
  }));
  await running.app.ask('PATCH', `${studio}/repository`, { body: { draft_preview: live } });
});

/** Prints all its input in an encoding that no mask covers. */
const spy = `${plainBuild}
for (const [name, value] of Object.entries(process.env)) console.log(name + '=' + [...value].join('.'));`;

it('gives the build of a draft the secrets that are marked, and none of the others, whatever the draft runs', async () => {
  const { app } = running;
  const editor = await app.makeToken(['browse_studio', 'edit_studio']);
  await app.ask('POST', `${studio}/branches`, { body: { name: 'spy' }, token: editor });
  await commitTo(app, 'spy', { 'build.mjs': spy });
  const { body } = await app.ask('POST', `${studio}/draft-previews`, { body: { branch: 'spy' }, token: editor });
  await running.work();
  const deployment = await running.latest(body.id);
  expect(deployment).toMatchObject({ conclusion: 'success', branch: 'spy' });
  const log = await running.log(deployment, 'build');
  expect(log).toContain(`DRAFT_KEY=${[...'d-4be1'].join('.')}`);
  expect(log).toContain(`PORTICO_ENVIRONMENT=${[...'Preview of spy'].join('.')}`);
  expect(log).not.toContain([...'p-7f3a9c'].join('.'));
  expect(log).not.toContain('PRODUCTION_KEY');
  const given = `select settings->>'variables' as variables from deployment where id = ?`;
  const [row] = await app.services.orm.em.fork().execute<{ variables: string }[]>(given, [deployment.id]);
  expect(JSON.parse(row?.variables ?? '').map(({ name }: { name: string }) => name)).toEqual(['DRAFT_KEY']);
});

it('keeps the package cache of drafts apart from that of other environments, though their lock files are the same', async () => {
  const caches = path.join(running.buildDir, 'own', 'cache');
  const [project = ''] = await readdir(caches);
  expect(await readdir(path.join(caches, project))).toHaveLength(2);
});

it('builds no draft as the user of the server, who can reach the secrets of all environments', async () => {
  const { app } = running;
  const { deployer } = app.services;
  const isolation = async () => ({ level: 'process' as const, reason: 'nothing stronger is there' });
  app.services.deployer = { ...deployer, isolation };
  try {
    await app.ask('POST', `${studio}/branches`, { body: { name: 'weak' } });
    const { body } = await app.ask('POST', `${studio}/draft-previews`, { body: { branch: 'weak' } });
    await running.work();
    const deployment = await running.latest(body.id);
    expect(deployment).toMatchObject({
      conclusion: 'failure',
      failure_reason: 'isolation_unavailable',
      isolation: null,
    });
    expect(await running.log(deployment, 'prepare')).toMatch(
      /^Builds of draft previews are refused: .*nothing stronger/,
    );
    await app.ask('POST', `${studio}/deployments`, { body: { environment_id: live } });
    await running.work();
    expect(await running.latest(live)).toMatchObject({ conclusion: 'success' });
  } finally {
    app.services.deployer = deployer;
  }
});

it('gives a draft nothing that drafts have lost between the request and the begin of its build', async () => {
  const { app } = running;
  await app.ask('POST', `${studio}/branches`, { body: { name: 'late' } });
  await commitTo(app, 'late', { 'build.mjs': spy });
  const { body } = await app.ask('POST', `${studio}/draft-previews`, { body: { branch: 'late' } });
  const variables = [
    { name: 'DRAFT_KEY', available_in_drafts: false },
    { name: 'PRODUCTION_KEY', available_in_install: true },
  ];
  const change = { body: { variables, network: 'install' } };
  expect((await app.ask('PATCH', `${studio}/environments/${live}`, change)).status).toBe(200);
  await running.work();
  const deployment = await running.latest(body.id);
  expect(deployment).toMatchObject({ conclusion: 'success', branch: 'late' });
  const log = await running.log(deployment, 'build');
  expect(log).toContain('PORTICO_ENVIRONMENT=');
  expect(log).not.toMatch(/DRAFT_KEY|PRODUCTION_KEY/);
  expect(await running.log(deployment, 'prepare')).toContain('network: install');
});
