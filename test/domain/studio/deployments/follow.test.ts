import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { workOnDeployments } from '../../../../src/domain/studio/deployments/run/work.ts';
import { createDeployer } from '../../../../src/engines/deployer/deployer.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { buildDraft, builtSite, plainBuild, startDeployingApp } from '../../../support/deployments.ts';

const running = shared(startDeployingApp);
/** The build waits for this file when it has written most of its lines. */
let goOn: string;
let seen: string;
beforeAll(async () => {
  // Seen by builds whatever they are closed in.
  seen = await mkdtemp('/var/tmp/portico-seen-');
  await chmod(seen, 0o755);
  goOn = path.join(seen, 'go-on');
  await seed(
    running.app,
    builtSite(
      `import { existsSync } from 'node:fs';
for (let i = 0; i < 5; i++) {
  console.log('line', i, 'é😀');
  do await new Promise((go) => setTimeout(go, 100)); while (i === 3 && !existsSync(${JSON.stringify(goOn)}));
}
${plainBuild}`,
    ),
  );
});
afterAll(async () => {
  await rm(seen, { recursive: true });
});

it('gives a follower every line as it is written, at the offset where a reader of the log finds it', async () => {
  const { app } = running;
  const draft = { name: 'Live', branch: 'main', install_command: '', ...buildDraft };
  const { body: environment } = await app.ask('POST', `${studio}/environments`, { body: draft });
  const at = `${studio}/deployments/${environment.latest_deployment.id}`;
  const job = (await app.ask('GET', at)).body.jobs[2].id;
  const texts: { offset: number; text: string }[] = [];
  const partial: Promise<{ body: string; next: number }>[] = [];
  const unfollow = app.services.studio.feed.followLog(job, ({ offset, text }) => {
    texts.push({ offset, text });
    if (text.includes('line 3'))
      partial.push(
        app.ask('GET', `${at}/jobs/${job}/log`).then(async ({ body, headers }) => {
          await writeFile(goOn, '');
          return { body, next: Number(headers.get('x-next-offset')) };
        }),
      );
  });
  await workOnDeployments(app.services);
  unfollow();
  const whole = texts.map(({ text }) => text).join('');
  for (const { offset, text } of texts)
    expect(
      Buffer.from(whole)
        .subarray(offset, offset + Buffer.byteLength(text))
        .toString(),
    ).toBe(text);
  // Lines written while this machine was busy come together; the last comes after the first ones were read.
  expect(whole.match(/^line/gm)).toHaveLength(5);
  expect(texts.filter(({ text }) => text.startsWith('line')).length).toBeGreaterThan(1);
  const { body: stored, headers } = await app.ask('GET', `${at}/jobs/${job}/log`);
  expect([stored, headers.get('x-log-complete')]).toEqual([whole, 'true']);
  const [{ body: early, next } = { body: '', next: 0 }] = await Promise.all(partial);
  expect(early.length).toBeLessThan(whole.length);
  expect(early + (await app.ask('GET', `${at}/jobs/${job}/log?offset=${next}`)).body).toBe(whole);
});

it('refuses to build where only the server’s own user is left, when that is not wanted', async () => {
  const { app } = running;
  const { deployer } = app.services;
  const refused = { refused: 'install bubblewrap' };
  app.services.deployer = { ...deployer, isolation: async () => refused };
  const { id } = await running.environment({ name: 'Strict', branch: 'main', ...buildDraft });
  app.services.deployer = deployer;
  const deployment = await running.latest(id);
  expect(deployment).toMatchObject({ conclusion: 'failure', failure_reason: 'isolation_unavailable', isolation: null });
  expect(await running.log(deployment, 'prepare')).toBe('install bubblewrap\n');
  const strict = createDeployer({ directory: `${running.buildDir}/strict`, dataDirectory: '/nowhere', strict: true });
  const level = await strict.isolation();
  expect('refused' in level ? 'process' : level.level).toMatch(/^(bubblewrap|user|process)$/);
});
