import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { collectOutputs } from '../../../../src/domain/studio/deployments/collect-outputs.ts';
import { Encodings } from '../../../../src/domain/studio/deployments/run/building.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
let environment: number;
const page = '<p>again and again</p>\n'.repeat(200);
const sha256 = createHash('sha256').update(page).digest('hex');

beforeAll(async () => {
  await seed(running.app, { 'index.html': page, 'small.html': '<p>small</p>' });
  const made = await running.environment({ name: 'Live', branch: 'main', provider: 'static' });
  environment = made.id;
});

const settled = () => running.app.services.studio.building.encodings.settled();
const sizes = () => running.app.services.blobs.sizes(sha256);
/** What a crash between a publication and the compression leaves. */
const loseCodings = () =>
  rm(path.join(running.app.directory(''), '../../blobs', sha256.slice(0, 2), `${sha256.slice(2)}.codings`));

it('compresses what was published, without delaying any request', async () => {
  await settled();
  expect(await sizes()).toEqual({ identity: page.length, br: expect.any(Number), gzip: expect.any(Number) });
  const small = createHash('sha256').update('<p>small</p>').digest('hex');
  expect(await running.app.services.blobs.sizes(small)).toEqual({ identity: 12 });
});

it('compresses again what a crash has left undone, when the same file is published again and every night', async () => {
  await loseCodings();
  expect(await sizes()).toEqual({ identity: page.length });
  await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment } });
  await running.work();
  expect(await running.log(await running.latest(environment), 'publish')).toContain('2 files, 0 of them new');
  await settled();
  expect(await sizes()).toHaveProperty('br');
  await loseCodings();
  await collectOutputs(running.app.services);
  await settled();
  expect(await sizes()).toHaveProperty('br');
});

it('goes on behind an output that is no longer there, and begins nothing once it is closed', async () => {
  const { services } = running.app;
  const { output_digest } = await running.latest(environment);
  await loseCodings();
  const encodings = new Encodings();
  encodings.add(services, '0'.repeat(64));
  encodings.add(services, output_digest);
  await encodings.settled();
  expect(await sizes()).toHaveProperty('br');
  await loseCodings();
  await encodings.close();
  encodings.add(services, output_digest);
  await encodings.settled();
  expect(await sizes()).not.toHaveProperty('br');
});
