import path from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { seed, studio } from './support/app.ts';
import { buildDraft, builtSite, type DeployingApp, plainBuild, startDeployingApp } from './support/deployments.ts';
import { asRoot, removeDisks, smallDisk } from './support/small-disk.ts';

let running: DeployingApp;
beforeEach(async () => {
  running = await startDeployingApp();
});
afterEach(async () => {
  removeDisks();
  await running.stop();
});

/** A build that writes a file of so many mebibytes. */
const large = (path: string, mebibytes = 12) =>
  `${plainBuild}\nimport { randomBytes } from 'node:crypto'; writeFileSync('${path}', randomBytes(${mebibytes} * 1024 * 1024));`;

async function deployed(script: string) {
  await seed(running.app, builtSite(plainBuild));
  const { id } = await running.environment({ name: 'Site', branch: 'main', ...buildDraft });
  const good = await running.latest(id);
  expect(good.conclusion).toBe('success');
  return async () => {
    await seed(running.app, builtSite(script));
    await running.app.services.studio.moves.settled();
    await running.work();
    const environment = (await running.app.ask('GET', `${studio}/environments/${id}`)).body;
    expect(environment.published_deployment_id).toBe(good.id);
    return running.latest(id);
  };
}

asRoot('a disk that a build fills fails the build, and nothing else', async () => {
  // With room for a copy of node, which lies where builds cannot reach it in some clones.
  await smallDisk(path.join(running.buildDir, 'own'), 256);
  const again = await deployed(large('filler', 260));
  const failed = await again();
  expect(failed).toMatchObject({ status: 'completed', conclusion: 'failure', failure_reason: 'exit_code' });
  expect(await running.log(failed, 'build')).toContain('ENOSPC');
});

asRoot('a disk that is full when files are kept fails the deployment, and the site stays', async () => {
  await smallDisk(path.join(path.dirname(path.dirname(running.app.directory('x'))), 'blobs'));
  const again = await deployed(large('dist/large.bin'));
  const failed = await again();
  expect(failed).toMatchObject({ status: 'completed', conclusion: 'failure', failure_reason: 'provider_error' });
  expect(await running.log(failed, 'publish')).toMatch(/full/);
});
