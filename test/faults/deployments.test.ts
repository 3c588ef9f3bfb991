import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { buildDraft, builtSite, type Deployment, plainBuild } from '../support/deployments.ts';
import { longSleep, processesWith } from '../support/processes.ts';
import { demoDataDir, kill, type ServerProcess, startServer } from '../support/server-process.ts';

const studio = '/api/v2/organizations/demo/projects/site/studio';
const directories: string[] = [];
afterAll(async () => {
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
});

async function buildDir(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-builds-'));
  directories.push(directory);
  await chmod(directory, 0o711);
  return path.join(directory, 'own');
}

/** A directory that builds can look into, whatever they are closed in: their own, and temporary files, they have to themselves. */
async function seenByBuilds(): Promise<string> {
  const directory = await mkdtemp('/var/tmp/portico-seen-');
  directories.push(directory);
  await chmod(directory, 0o755);
  return directory;
}

const asker = (token: string) => async (server: ServerProcess, method: string, at: string, body?: object) => {
  const response = await fetch(`${server.url}${at}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text}`);
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
};

/** Asks again and again until an answer fits; fails after a while. */
async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean, seconds = 90): Promise<T> {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > end) throw new Error(`Not in ${seconds} s: ${JSON.stringify(answer)}`);
    await setTimeout(100);
  }
}

it('kill -9 of the server during a build: nothing is left running, it is begun once more, then given up', async () => {
  const { dataDir, token } = await demoDataDir();
  const ask = asker(token);
  const settings = { PORTICO_BUILD_DIR: await buildDir() };
  let server = await startServer(dataDir, settings);
  const at = (id: number) => () => ask(server, 'GET', `${studio}/deployments/${id}`) as Promise<Deployment>;
  const { latest_deployment } = await ask(server, 'POST', `${studio}/environments`, {
    name: 'Crash',
    branch: 'main',
    provider: 'build',
    install_command: '',
    build_command: longSleep(4730),
    output_directory: 'dist',
  });
  const { id } = latest_deployment;
  for (const attempt of [1, 2]) {
    // One that was put back shows the jobs of the attempt before until it is begun.
    const hasBegun = ({ status, jobs }: Deployment) => status === 'in_progress' && jobs[2].steps.length === 1;
    const run = await until(at(id), (one) => one.attempt === attempt && hasBegun(one));
    expect(run).toMatchObject({ status: 'in_progress', attempt });
    await until(
      () => processesWith(longSleep(4730)),
      (pids) => pids.length > 0,
    );
    await kill(server.child);
    server = await startServer(dataDir, settings);
  }
  const ended = await until(at(id), ({ status }) => status === 'completed');
  expect(ended).toMatchObject({ conclusion: 'failure', failure_reason: 'worker_lost', attempt: 2, published: false });
  expect(ended.jobs.map(({ conclusion }: Deployment) => conclusion)).toEqual([
    'success',
    'success',
    'failure',
    'skipped',
  ]);
  expect(await processesWith(longSleep(4730))).toEqual([]);
  // A server that has just begun tries how it can build.
  expect(
    (await readdir(settings.PORTICO_BUILD_DIR)).filter((name) => !/^(cache|runtime|probe-.*)$/.test(name)),
  ).toEqual([]);
});

it('a stop in order puts a running build back, and the next start ends it', async () => {
  const { dataDir, token } = await demoDataDir();
  const ask = asker(token);
  const settings = { PORTICO_BUILD_DIR: await buildDir(), PORTICO_BUILD_SLOTS: '2' };
  let server = await startServer(dataDir, settings);
  const files = builtSite(plainBuild);
  const create = (name: string, build_command: string) =>
    ask(server, 'POST', `${studio}/environments`, {
      ...buildDraft,
      name,
      branch: 'main',
      install_command: '',
      build_command,
    });
  const marker = path.join(await seenByBuilds(), 'go');
  const wait = await create(
    'One',
    `test -e ${marker} || ${longSleep(4731)}; mkdir dist && echo ${Object.keys(files).length} > dist/index.html`,
  );
  const other = await create(
    'Two',
    `test -e ${marker} || ${longSleep(4731)}; mkdir dist && echo two > dist/index.html`,
  );
  const at = (of: Deployment) => () =>
    ask(server, 'GET', `${studio}/deployments/${of.latest_deployment.id}`) as Promise<Deployment>;
  // Two environments at the same time.
  for (const one of [wait, other]) await until(at(one), ({ jobs }) => jobs[2].steps.length === 1);
  await until(
    () => processesWith(longSleep(4731)),
    (pids) => pids.length >= 2,
  );
  await server.stop();
  expect(await processesWith(longSleep(4731))).toEqual([]);
  await writeFile(marker, '');
  server = await startServer(dataDir, settings);
  for (const one of [wait, other])
    expect(await until(at(one), ({ status }) => status === 'completed')).toMatchObject({
      conclusion: 'success',
      attempt: 1,
      published: true,
    });
});
