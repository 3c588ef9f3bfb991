import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { seed, shared, studio } from '../../support/app.ts';
import { startExecutingApp, workflows } from '../../support/workflows/executing.ts';
import { type Peer, startPeer } from '../../support/workflows/peer.ts';
import { until } from '../../support/workflows/processes.ts';

const app = shared(() => startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' }));
let peer: Peer;
beforeAll(() => seed(app, { 'content/posts/first.md': '---\ntitle: First\n---\nText\n' }));
beforeEach(async () => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  peer = await startPeer((path) => path === '/held');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await peer.close();
});

const flow = (steps: object[]) => ({ portico: 'workflow/1', permissions: ['browse_studio', 'edit_studio'], steps });
const operation = (id: string, name: string, input: object) => ({
  id,
  type: 'operation',
  operation: `studio.${name}`,
  with: input,
});
const change = (workflow: string, id: string, what: string, body: object = {}) =>
  app.ask('POST', `${workflows}/${workflow}/executions/${id}/${what}`, { body });

async function retry(workflow: string, id: string, body: object = {}): Promise<string> {
  const answer = await change(workflow, id, 'retry', body);
  expect(answer.status).toBe(202);
  return answer.body.execution_id;
}

/** Runs an execution whose checkpoints fail as soon as they hold the result of a step, until it is given up. */
async function crash(workflow: string, path: string): Promise<string> {
  const { events } = app.services;
  const append = events.append.bind(events);
  vi.spyOn(events, 'append').mockImplementation(async (em, news) => {
    const isResult = (event: Record<string, unknown>) => event.type === 'step.completed' && event.path === path;
    if (news.some(({ events: all }) => all.some((event) => isResult(event as Record<string, unknown>))))
      throw new Error('the worker dies');
    return append(em, news);
  });
  const id = await app.begin(workflow);
  await app.settle();
  for (let losses = 0; losses < 10 && (await app.look(workflow, id)).status !== 'failed'; losses += 1)
    await app.pass(200_000);
  vi.restoreAllMocks();
  expect(await app.look(workflow, id)).toMatchObject({
    status: 'failed',
    error: { code: 'crashed' },
    steps: expect.arrayContaining([expect.objectContaining({ path, status: 'cancelled' })]),
  });
  return id;
}

describe('a retry of a crashed execution', () => {
  it.each([
    ['createBranch', { name: 'made' }],
    ['createEntry', { collection: 'posts', slug: 'made', frontmatter: { title: 'Made' }, body: 'Text\n' }],
  ])('takes a committed %s as done, and goes on', async (name, input) => {
    const workflow = await app.save(
      flow([operation('make', name, input), { id: 'after', type: 'transform', expression: '"on"' }]),
    );
    const id = await crash(workflow, 'make');
    const again = await retry(workflow, id);
    await app.settle();
    expect(await app.look(workflow, again)).toMatchObject({
      status: 'completed',
      output: 'on',
      steps: [{ path: 'make', status: 'completed', tries: 1 }, { path: 'after' }],
    });
  });

  it('finds it inside a loop, through a chain of retries', async () => {
    const workflow = await app.save(
      flow([
        {
          id: 'each',
          type: 'for_each',
          items: '[1..2]',
          do: [operation('make', 'createBranch', { name: 'b-${{ item }}' })],
        },
      ]),
    );
    const first = await crash(workflow, 'each[1].make');
    // The second one ends before it has begun anything.
    const second = await retry(workflow, first);
    app.jobs.splice(0);
    expect((await change(workflow, second, 'cancel')).body.status).toBe('cancelled');
    const third = await retry(workflow, second);
    await app.settle();
    expect(await app.look(workflow, third)).toMatchObject({
      status: 'completed',
      output: [{ name: 'b-1' }, { name: 'b-2' }],
    });
  });

  it('from the start makes a new try, which meets what is there', async () => {
    const workflow = await app.save(flow([operation('make', 'createBranch', { name: 'twice' })]));
    const id = await crash(workflow, 'make');
    const again = await retry(workflow, id, { from: 'start' });
    await app.settle();
    expect(await app.look(workflow, again)).toMatchObject({ status: 'failed', error: { code: 'already_exists' } });
  });

  it('does not take over what another caller has made', async () => {
    const workflow = await app.save(flow([operation('make', 'createBranch', { name: 'theirs' })]));
    expect((await app.ask('POST', `${studio}/branches`, { body: { name: 'theirs' } })).status).toBe(201);
    const id = await app.begin(workflow);
    await app.settle();
    const again = await retry(workflow, id);
    await app.settle();
    expect(await app.look(workflow, again)).toMatchObject({ status: 'failed', error: { code: 'already_exists' } });
  });
});

describe('the Idempotency-Key of a call', () => {
  const call = (id: string, at: string, more: object = {}) => ({
    id,
    type: 'http',
    method: 'POST',
    url: `${peer.url}${at}`,
    ...more,
  });
  const keysOf = (path: string) => peer.calls.filter((one) => one.path === path).map(({ key }) => key);

  /** Begins an execution, and cancels it while a call of it is not answered. */
  async function cutOff(workflow: string, begin: () => Promise<string>): Promise<string> {
    const before = keysOf('/held').length;
    const id = await begin();
    const settled = app.settle();
    await until(
      () => keysOf('/held').length,
      (count) => count > before,
      30,
    );
    expect((await change(workflow, id, 'cancel')).body.status).toBe('running');
    await until(
      async () => {
        await app.services.workflows.engine.listen({ renew: false });
        return (await app.look(workflow, id)).status as string;
      },
      (status) => status === 'cancelled',
      30,
    );
    await settled;
    return id;
  }

  it('stays the first one for a call that was cut off, through retries, and is new for one that was answered', async () => {
    const workflow = await app.save(flow([call('a', '/a'), call('b', '/held')]));
    const first = await cutOff(workflow, () => app.begin(workflow));
    const second = await cutOff(workflow, () => retry(workflow, first));
    const third = await retry(workflow, second);
    peer.open();
    await app.settle();
    expect((await app.look(workflow, third)).status).toBe('completed');
    expect(keysOf('/a')).toHaveLength(1);
    expect(keysOf('/held')).toHaveLength(3);
    expect(new Set(keysOf('/held')).size).toBe(1);
  });

  it('is new for all calls of a retry from the start', async () => {
    const workflow = await app.save(flow([call('a', '/a'), call('b', '/held')]));
    const first = await cutOff(workflow, () => app.begin(workflow));
    peer.open();
    await retry(workflow, first, { from: 'start' });
    await app.settle();
    for (const path of ['/a', '/held']) expect([path, new Set(keysOf(path)).size]).toEqual([path, 2]);
  });

  it('is new for a call that has failed with an answer', async () => {
    const workflow = await app.save(flow([call('a', '/a', { ok: [204] })]));
    const first = await app.begin(workflow);
    await app.settle();
    expect((await app.look(workflow, first)).status).toBe('failed');
    await retry(workflow, first);
    await app.settle();
    expect(new Set(keysOf('/a')).size).toBe(2);
  });
});
