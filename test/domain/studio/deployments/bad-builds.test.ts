import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { workOnDeployments } from '../../../../src/domain/studio/deployments/run/work.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { buildDraft, builtSite, type Deployment, plainBuild, startDeployingApp } from '../../../support/deployments.ts';
import { longSleep, processesWith } from '../../../support/processes.ts';

const running = shared(startDeployingApp);
let environment: number;
let good: Deployment;

beforeAll(async () => {
  await seed(running.app, builtSite(plainBuild));
  ({ id: environment } = await running.environment({ name: 'Site', branch: 'main', auto_deploy: true, ...buildDraft }));
  good = await running.latest(environment);
  expect(good.conclusion).toBe('success');
});

/** Deploys another build script; what was published before must be published afterwards. */
async function deploy(script: string): Promise<Deployment> {
  await seed(running.app, builtSite(script));
  await running.app.services.studio.moves.settled();
  await running.work();
  const deployment = await running.latest(environment);
  expect((await running.app.ask('GET', `${studio}/environments/${environment}`)).body.published_deployment_id).toBe(
    good.id,
  );
  return deployment;
}

describe('a build that goes wrong leaves the site as it is', () => {
  it('when its command fails: the exit code and the tail of its output are recorded', async () => {
    const deployment = await deploy(`console.error('\\x1b[31mno such template\\x1b[0m'); process.exit(7);`);
    expect(deployment).toMatchObject({
      status: 'completed',
      conclusion: 'failure',
      failure_reason: 'exit_code',
      trigger: 'commit',
    });
    const [, , build, publish] = deployment.jobs;
    expect(build).toMatchObject({ conclusion: 'failure', steps: [{ conclusion: 'failure', exit_code: 7 }] });
    expect(publish).toMatchObject({ status: 'completed', conclusion: 'skipped', started_at: null });
    expect(await running.log(deployment, 'build')).toMatch(/^\$ node build.mjs\nno such template\n.*exit code 7\n$/);
  });

  it('when it takes longer than it may', async () => {
    const em = running.app.services.orm.em.fork();
    await em.execute('update environment set timeout_seconds = 2 where id = ?', [environment]);
    const deployment = await deploy('setInterval(() => {}, 1000);');
    await em.execute('update environment set timeout_seconds = 900 where id = ?', [environment]);
    expect(deployment).toMatchObject({ conclusion: 'failure', failure_reason: 'timeout' });
  });

  it('when it publishes nothing', async () => {
    expect(await deploy('')).toMatchObject({ conclusion: 'failure', failure_reason: 'output_missing' });
  });

  it('when its output leads out of the workspace', async () => {
    const deployment = await deploy(`import { symlinkSync } from 'node:fs'; symlinkSync('/etc', 'dist');`);
    expect(deployment).toMatchObject({ conclusion: 'failure', failure_reason: 'output_missing' });
    expect(await running.log(deployment, 'publish')).toContain('leads out of the workspace');
  });

  it('when it floods its log: beginning and end are kept, and the rest is counted', async () => {
    const script = `const line = 'x'.repeat(1023) + '\\n';
for (let i = 0; i < 8 * 1024; i++) if (!process.stdout.write(line)) await new Promise((go) => process.stdout.once('drain', go));
console.log('last words'); process.exitCode = 1;`;
    const deployment = await deploy(script);
    const log = await running.log(deployment, 'build');
    expect(log.length).toBeGreaterThan(4 * 1024 * 1024 - 130_000);
    expect(log.length).toBeLessThan(4 * 1024 * 1024 + 130_000);
    expect(log).toMatch(/^\$ node build.mjs\n/);
    expect(log).toMatch(/\[… \d+ bytes left out …\]/);
    expect(log).toContain('last words\n');
  });

  it('when it writes outside: the server and its data are as they were', async () => {
    const place = path.join(running.app.directory('x'), '../../written');
    const script = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(place)}, 'x');`;
    const deployment = await deploy(script);
    if (deployment.isolation === 'process') return;
    expect(deployment).toMatchObject({ conclusion: 'failure', failure_reason: 'exit_code' });
    await expect(readFile(place)).rejects.toThrow();
  });
});

it('leaves no workspace behind', async () => {
  expect(
    (await readdir(path.join(running.buildDir, 'own'))).filter((name) => !['cache', 'runtime'].includes(name)),
  ).toEqual([]);
});

/** Builds another script that is expected to go well. */
async function deployWell(script: string): Promise<Deployment> {
  await seed(running.app, builtSite(script));
  await running.app.services.studio.moves.settled();
  await running.work();
  const deployment = await running.latest(environment);
  expect(deployment.conclusion).toBe('success');
  return deployment;
}

it('reports links in the output, publishes the rest', async () => {
  const deployment = await deployWell(
    `${plainBuild}\nimport { symlinkSync } from 'node:fs'; symlinkSync('/etc/passwd', 'dist/passwd');`,
  );
  expect(deployment).toMatchObject({
    output_digest: good.output_digest,
    warnings: [{ code: 'not_published', message: expect.stringMatching(/^Not published.*: passwd$/) }],
  });
  expect(await running.log(deployment, 'publish')).toContain(deployment.warnings[0].message);
});

it('reports lines of _redirects that are not used, publishes the rest', async () => {
  const lines = ['/a /b', '/c /d 999', 'e', ...Array.from({ length: 20 }, () => '/x//*/y z')];
  const deployment = await deployWell(
    `${plainBuild}\nwriteFileSync('dist/_redirects', ${JSON.stringify(lines.join('\n'))});`,
  );
  const [{ code, message }] = deployment.warnings;
  expect([code, deployment.warnings.length]).toEqual(['redirect_not_used', 1]);
  expect(message).toMatch(/^Not used of _redirects: line 2 \(the status must be one of .*\), line 3 \(needs a path/);
  expect(message).toMatch(/ and 2 more$/);
  expect(await running.log(deployment, 'publish')).toContain(message);
  const large = await deployWell(`${plainBuild}\nwriteFileSync('dist/_redirects', '#'.repeat(1024 * 1024 + 1));`);
  expect(large.warnings).toEqual([
    { code: 'redirect_not_used', message: 'Not used of _redirects: it is larger than 1 MiB' },
  ]);
  const fits = await deployWell(`${plainBuild}\nwriteFileSync('dist/_redirects', '#'.repeat(1024 * 1024));`);
  expect(fits.warnings).toEqual([]);
});

describe('secrets', () => {
  const secret = 'pa$$ word/with+signs-and-length';
  it('reach the build of their environment, and no log', async () => {
    const script = `const text = process.env.API_KEY;
console.log('plain', text, 'base64', Buffer.from(text).toString('base64'), 'url', encodeURIComponent(text));
console.log('header', Buffer.from('user:' + text + ':end').toString('base64'), 'length', text.length, 'CI', process.env.CI);
${plainBuild}`;
    await seed(running.app, builtSite(script));
    const install = 'node -e "console.log(process.env.API_KEY, process.env.SITE_NAME, process.env.CI)"';
    const variables = [
      { name: 'API_KEY', value: secret },
      { name: 'SITE_NAME', value: 'Acme', secret: false, available_in_install: true },
      { name: 'CI', value: 'false', secret: false },
    ];
    const { id, variables: shown } = await running.environment({
      name: 'Secrets',
      branch: 'main',
      ...buildDraft,
      install_command: install,
      variables,
    });
    const kept = { available_in_drafts: false };
    expect(shown).toEqual([
      { ...kept, name: 'API_KEY', secret: true, available_in_install: false, value: null },
      { ...kept, name: 'SITE_NAME', secret: false, available_in_install: true, value: 'Acme' },
      { ...kept, name: 'CI', secret: false, available_in_install: false, value: 'false' },
    ]);
    const deployment = await running.latest(id);
    expect(await running.log(deployment, 'install')).toContain('undefined Acme true\n');
    const log = await running.log(deployment, 'build');
    expect(log).toContain('plain ******** base64 ******** url ********\n');
    expect(log).toContain(`length ${secret.length} CI false\n`);
    const shownInHeader = /header (\S+)/.exec(log)?.[1] ?? '';
    expect(Buffer.from(shownInHeader.replaceAll('*', ''), 'base64').toString()).not.toContain('word');
    const [stored] = await running.app.services.orm.em
      .fork()
      .execute('select variables::text as text from environment where id = ?', [id]);
    expect(stored?.text).not.toContain('word');
  });
});

it('cancels during the install command, and nothing is left running', async () => {
  await running.app.ask('PATCH', `${studio}/environments/${environment}`, {
    body: { install_command: `echo installing; ${longSleep(4720)}` },
  });
  const { body: queued } = await running.app.ask('POST', `${studio}/deployments`, {
    body: { environment_id: environment },
  });
  const work = workOnDeployments(running.app.services);
  await new Promise<void>((resolve) => {
    running.app.services.studio.feed.followLog(queued.jobs[1].id, ({ text }) => text === 'installing\n' && resolve());
  });
  expect((await running.app.ask('POST', `${studio}/deployments/${queued.id}/cancel`)).status).toBe(202);
  await work;
  const { body: ended } = await running.app.ask('GET', `${studio}/deployments/${queued.id}`);
  expect(ended).toMatchObject({ status: 'completed', conclusion: 'cancelled' });
  expect(ended.jobs.map(({ conclusion }: Deployment) => conclusion)).toEqual([
    'success',
    'cancelled',
    'skipped',
    'skipped',
  ]);
  expect((await running.app.ask('POST', `${studio}/deployments/${queued.id}/cancel`)).status).toBe(409);
  expect(await processesWith(longSleep(4720))).toEqual([]);
});

it('ends when the project is deleted, and nothing is left running', async () => {
  const { app } = running;
  await app.ask('PATCH', `${studio}/environments/${environment}`, {
    body: { install_command: `echo installing; ${longSleep(4721)}` },
  });
  const { body: queued } = await app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment } });
  const work = workOnDeployments(app.services);
  await new Promise<void>((resolve) => {
    app.services.studio.feed.followLog(queued.jobs[1].id, ({ text }) => text === 'installing\n' && resolve());
  });
  const sql = (text: string) => app.services.orm.em.fork().execute<{ conclusion: string }[]>(text, [queued.id]);
  const project = 'where id = (select project_id from deployment where id = ?)';
  await sql(`update project set deleted_at = now() ${project}`);
  await work;
  await sql(`update project set deleted_at = null ${project}`);
  expect(await sql('select conclusion from deployment where id = ?')).toEqual([{ conclusion: 'cancelled' }]);
  expect(await processesWith(longSleep(4721))).toEqual([]);
});
