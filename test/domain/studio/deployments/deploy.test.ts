import { beforeAll, describe, expect, it } from 'vitest';
import { readManifest } from '../../../../src/domain/studio/deployments/manifest.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { buildDraft, builtSite, plainBuild, startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
beforeAll(() => seed(running.app, { 'public/index.html': '<h1>Plain</h1>', ...builtSite(plainBuild) }));

const pathsOf = async (digest: string) =>
  (await readManifest(running.app.services.blobs, digest)).map(([path]) => path);

describe('a site that is published as it is', () => {
  it('has the jobs prepare and publish, and becomes what its environment shows', async () => {
    const { id } = await running.environment({
      name: 'Plain',
      branch: 'main',
      provider: 'static',
      output_directory: 'public',
    });
    const deployment = await running.latest(id);
    expect(deployment).toMatchObject({
      status: 'completed',
      conclusion: 'success',
      published: true,
      failure_reason: null,
    });
    expect(
      deployment.jobs.map(({ name, conclusion }: { name: string; conclusion: string }) => [name, conclusion]),
    ).toEqual([
      ['prepare', 'success'],
      ['publish', 'success'],
    ]);
    expect(await pathsOf(deployment.output_digest)).toEqual(['index.html']);
  });
});

describe('a site that is built', () => {
  it('runs a job per stage, each command a step with its exit code', async () => {
    const { id } = await running.environment({
      name: 'Built',
      branch: 'main',
      install_command: 'npm ci',
      ...buildDraft,
    });
    const deployment = await running.latest(id);
    expect(deployment).toMatchObject({ conclusion: 'success', published: true, attempt: 1, trigger: 'manual' });
    expect(deployment.jobs.map(({ name }: { name: string }) => name)).toEqual([
      'prepare',
      'install',
      'build',
      'publish',
    ]);
    expect(deployment.jobs[2].steps).toMatchObject([
      { number: 1, name: 'node build.mjs', conclusion: 'success', exit_code: 0 },
    ]);
    expect(await running.log(deployment, 'build')).toContain('built one page\n');
    expect(await pathsOf(deployment.output_digest)).toEqual(['index.html']);
  });

  it('gives an equal output the same digest, and keeps nothing twice', async () => {
    const [environment] = (await running.app.ask('GET', `${studio}/environments?per_page=1&page=2`)).body;
    const before = await running.latest(environment.id);
    const again = await running.app.ask('POST', `${studio}/deployments/${before.id}/rerun`);
    expect(again).toMatchObject({
      status: 202,
      body: { status: 'queued', trigger: 'rerun', run_number: before.run_number + 1 },
    });
    await running.work();
    const after = await running.latest(environment.id);
    expect(after).toMatchObject({ conclusion: 'success', output_digest: before.output_digest, published: true });
    expect(await running.log(after, 'publish')).toContain('1 files, 0 of them new');
  });
});
