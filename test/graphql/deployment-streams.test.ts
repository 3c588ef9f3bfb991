import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { JobLog } from '../../src/domain/studio/deployments/job-log.ts';
import { createEnvironment } from '../../src/domain/studio/environments/environments.operations.ts';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { shared } from '../support/app.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(() => graphqlApp({ streams: { heartbeat: 60_000, patience: 1_000, poll: 600_000 } }));
let environment: number;
const open: EventStream[] = [];

/** Streams look for themselves only after ten minutes here: what arrives has been announced. */
beforeAll(async () => {
  const git = await app.repository();
  const changes = [{ path: 'index.html', content: Buffer.from('<p>Hi</p>') }];
  const author = { name: 'Seed', email: 'seed@portico.test' };
  await git.write({ branch: 'main', author, plan: async () => ({ changes, message: 'Seed', result: null }) });
  const draft = { organization: 'acme', project: 'site', name: 'live', branch: 'main', provider: 'static' };
  environment = ((await app.run(createEnvironment, draft)) as { id: number }).id;
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const stream of open.splice(0)) stream.close();
});

const execute = <T>(sql: string, values: unknown[] = []): Promise<T> =>
  app.services.orm.em.fork().execute(sql, values) as Promise<T>;

/** The environment itself requested a first run. */
let runs = 100;
/** A deployment that has begun, with one job. */
async function deploy(): Promise<{ deployment: number; job: number }> {
  runs += 1;
  const [row] = await execute<{ id: number }[]>(
    `insert into deployment (project_id, environment_id, run_number, branch, commit_sha, title, status, trigger, attempt, settings, created_at)
     select project_id, id, ?, 'main', ?, 'Run', 'in_progress', 'manual', 1, '{}', now() from environment where id = ? returning id`,
    [runs, 'a'.repeat(40), environment],
  );
  const deployment = row?.id ?? 0;
  const [job] = await execute<{ id: number }[]>(
    `insert into deployment_job (deployment_id, name, position, status, steps, started_at)
     values (?, 'build', 0, 'in_progress', '[]', now()) returning id`,
    [deployment],
  );
  return { deployment, job: job?.id ?? 0 };
}

/** Ends a deployment, and notifies as the database would: no process listens to it in this test. */
async function end({ deployment, job }: { deployment: number; job: number }): Promise<void> {
  await execute(
    `with ended as (update deployment_job set status = 'completed', conclusion = 'success', completed_at = now() where id = ?)
     update deployment set status = 'completed', conclusion = 'success', completed_at = now() where id = ?`,
    [job, deployment],
  );
  app.services.studio.feed.notify(JSON.stringify({ deployment, environment, job }));
}

const place = 'organization: "acme", project: "site"';
const subscribe = async (query: string, headers: Record<string, string> = {}) => {
  const stream = await openStream(app.url, app.full, `subscription { ${query} }`, { headers });
  open.push(stream);
  return stream;
};
const logOf = ({ deployment, job }: { deployment: number; job: number }, headers = {}) =>
  subscribe(`deploymentLog(${place}, deployment_id: ${deployment}, job_id: ${job}) { offset text }`, headers);

describe('deploymentLog', () => {
  it('gives what is written, at once, and goes on where it was', async () => {
    const of = await deploy();
    const log = new JobLog(app.services, of, (text) => text);
    log.line('stored');
    await log.close();
    const stream = await logOf(of);
    const first = await stream.next();
    expect(first).toMatchObject({ id: '7', data: { data: { deploymentLog: { offset: 0, text: 'stored\n' } } } });
    for (const line of ['one', 'zwei é', 'three']) log.line(line);
    let text = '';
    let last = first;
    while (!text.endsWith('three\n')) {
      last = await stream.next();
      const piece = last?.data.data.deploymentLog;
      expect(piece.offset).toBe(7 + Buffer.byteLength(text));
      text += piece.text;
    }
    expect(text).toBe('one\nzwei é\nthree\n');
    stream.close();
    log.line('missed');
    await log.close();
    const again = await logOf(of, { 'Last-Event-ID': last?.id ?? '' });
    expect((await again.next())?.data.data.deploymentLog).toEqual({ offset: Number(last?.id), text: 'missed\n' });
    await end(of);
    expect(await again.next()).toMatchObject({ event: 'complete' });
    expect(await again.next()).toBeNull();
  });

  it('gives a long log in parts, with room for each before it is read, and goes on with what is written', async () => {
    const of = await deploy();
    const log = new JobLog(app.services, of, (text) => text);
    const line = 'x'.repeat(99_999);
    for (let count = 0; count < 35; count += 1) log.line(line);
    await log.close();
    const take = vi.spyOn(answerMemory, 'take');
    const stream = await logOf(of);
    const sizes: number[] = [];
    const received = () => sizes.reduce((sum, size) => sum + size, 0);
    while (received() < 3_500_000) {
      const event = await stream.next();
      const { offset, text } = event?.data.data.deploymentLog ?? {};
      expect([offset, event?.id]).toEqual([received(), String(received() + text.length)]);
      sizes.push(text.length);
    }
    expect(received()).toBe(3_500_000);
    expect(sizes.length).toBeGreaterThan(3);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
    const large = take.mock.calls.map(([, bytes]) => bytes).filter((bytes) => bytes > 0);
    expect(large.slice(0, 3)).toEqual([1024 * 1024, 1024 * 1024, 1024 * 1024]);
    log.line('last');
    expect((await stream.next())?.data.data.deploymentLog).toEqual({ offset: 3_500_000, text: 'last\n' });
    await log.close();
  });

  it.each(['abc', '-1', '1.5', '9'.repeat(16)])(
    'refuses to go on behind %s, which is no position',
    async (position) => {
      const stream = await logOf(await deploy(), { 'Last-Event-ID': position });
      const [error] = (await stream.next())?.data.errors ?? [];
      expect([error?.message, error?.extensions.reason]).toEqual([
        'after: must be the id of an event of this log',
        'invalid_request',
      ]);
    },
  );

  it('refuses a job of another deployment', async () => {
    const [one, other] = [await deploy(), await deploy()];
    const stream = await logOf({ deployment: one.deployment, job: other.job });
    expect((await stream.next())?.data.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
  });
});

describe('deploymentChanged', () => {
  const fields = '{ id status conclusion jobs { name status } }';

  it('gives a deployment until it has ended', async () => {
    const of = await deploy();
    const query = `deploymentChanged(${place}, deployment_id: ${of.deployment}) ${fields}`;
    const stream = await subscribe(query);
    const first = await stream.next();
    expect(first?.data.data.deploymentChanged).toMatchObject({
      status: 'in_progress',
      jobs: [{ status: 'in_progress' }],
    });
    // A subscriber with this state gets no event until there is another.
    const again = await subscribe(query, { 'Last-Event-ID': first?.id ?? '' });
    await end(of);
    for (const each of [stream, again]) {
      // A state between the two is a state as well: the job has ended, and its deployment not yet.
      const states = [];
      for (let event = await each.next(); event?.event === 'next'; event = await each.next())
        states.push(event.data.data.deploymentChanged);
      expect(states.at(-1)).toMatchObject({ status: 'completed', conclusion: 'success' });
      expect(states.filter(({ jobs: [job] }) => job.status === 'in_progress')).toEqual([]);
      expect(await each.next()).toBeNull();
    }
  });

  it('gives the latest of an environment, and each that changes', async () => {
    const [earlier, latest] = [await deploy(), await deploy()];
    const stream = await subscribe(`deploymentChanged(${place}, environment_id: ${environment}) ${fields}`);
    const next = async () => (await stream.next())?.data.data.deploymentChanged;
    const ended = async () => {
      let state = await next();
      while (state.status !== 'completed') state = await next();
      return state;
    };
    expect(await next()).toMatchObject({ id: latest.deployment, status: 'in_progress' });
    await end(earlier);
    expect(await ended()).toMatchObject({ id: earlier.deployment });
    await end(latest);
    expect(await ended()).toMatchObject({ id: latest.deployment });
  });

  it.each([
    ['names neither', '', 'BAD_USER_INPUT'],
    ['names both', ', deployment_id: 1, environment_id: 1', 'BAD_USER_INPUT'],
    ['names an unknown deployment', ', deployment_id: 999999', 'NOT_FOUND'],
    ['names an unknown environment', ', environment_id: 999999', 'NOT_FOUND'],
  ])('is refused when it %s', async (_what, args, code) => {
    const stream = await subscribe(`deploymentChanged(${place}${args}) ${fields}`);
    expect((await stream.next())?.data.errors).toMatchObject([{ extensions: { code } }]);
    expect((await stream.next())?.event).toBe('complete');
  });
});
