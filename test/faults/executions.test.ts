import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import fc from '../support/properties.ts';
import { kill } from '../support/server-process.ts';
import { startHeldExecutions } from '../support/workflows/held-executions.ts';
import { type Peer, startPeer } from '../support/workflows/peer.ts';
import { executionsOf, query, startProcesses, threeCalls, until } from '../support/workflows/processes.ts';

vi.setConfig({ testTimeout: 240_000 });

let peer: Peer | undefined;
afterEach(async () => {
  await peer?.close();
  peer = undefined;
});

const keyOf = (execution: string, path: string) => createHash('sha256').update(`${execution}|${path}|`).digest('hex');

const once = (count: number) => Array.from({ length: count }, () => 1);

it('kill -9 of a worker in each step of three: another one takes over soon, completed steps never run again, that one once more', async () => {
  let heldAt = '';
  const service = await startPeer((path) => path === heldAt);
  peer = service;
  const processes = await startProcesses();
  const { begin, settled, look } = await executionsOf(processes, threeCalls(service.url));
  let worker = await processes.start('worker');
  for (const step of ['/a', '/b', '/c']) {
    heldAt = step;
    service.hold();
    service.calls.splice(0);
    const ids = await begin(6);
    await until(
      () => service.counts(step).length,
      (count) => count === ids.length,
      90,
    );
    const other = await processes.start('worker');
    await kill(worker.child);
    const killed = performance.now();
    await until(
      () => look(ids),
      (all) => all.every(({ attempt }) => attempt === 2),
      90,
    );
    // Some ten seconds; on a machine that is busy with other tests it may be more.
    expect((performance.now() - killed) / 1000).toBeLessThan(60);
    service.open();
    expect((await settled(ids, 90)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    for (const path of ['/a', '/b', '/c'])
      expect([step, path, service.counts(path)]).toEqual([step, path, ids.map(() => (path === step ? 2 : 1))]);
    worker = other;
  }
});

describe('a worker that is frozen, or killed anywhere', () => {
  it('a worker that is frozen for twice the heartbeat and thawed writes nothing more, and goes on with others', async () => {
    const service = await startPeer((path) => path === '/b');
    peer = service;
    const { processes, worker: frozen, ids, begin, settled, look, events } = await startHeldExecutions(service);
    const other = await processes.start('worker');
    frozen.child.kill('SIGSTOP');
    const thaws = performance.now() + 20_000;
    await until(
      () => look(ids),
      (all) => all.every(({ attempt }) => attempt === 2),
      90,
    );
    // The calls of both are answered: those of the frozen one are results it must not keep.
    service.open();
    const ended = await settled(ids, 90);
    expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    await until(
      () => performance.now(),
      (now) => now > thaws,
      90,
    );
    const rows = `select to_jsonb(execution) as row, (select jsonb_agg(to_jsonb(step_run) order by path) from step_run
    where execution_id = execution.id) as steps from execution order by id`;
    const before = await query(processes, rows);
    frozen.child.kill('SIGCONT');
    // It is alone with what comes next, so that it has come past what it was at.
    expect((await other.stop('SIGTERM')).code).toBe(0);
    const later = await begin(3);
    expect((await settled(later, 90)).map(({ status }) => status)).toEqual(later.map(() => 'completed'));
    const after = await query<{ row: { id: string } }>(processes, rows);
    expect(after.filter(({ row }) => ids.includes(row.id))).toEqual(before);
    for (const id of ids)
      for (const step of ['a', 'b', 'c'])
        expect((await events(id)).filter((event) => event === `step.completed ${step}`)).toHaveLength(1);
    expect(service.counts('/a')).toEqual(once(9));
    expect(service.counts('/c')).toEqual(once(9));
    expect(service.counts('/b').slice(0, 6)).toEqual(ids.map(() => 2));
    expect((await frozen.stop('SIGTERM')).code).toBe(0);
  });

  it('wherever a worker is killed, what was durable is not done again, and what was under way at most once more', async () => {
    const service = await startPeer();
    peer = service;
    const processes = await startProcesses();
    const call = (id: string) => ({ id, type: 'http', method: 'POST', url: `${service.url}/${id}` });
    const definition = {
      portico: 'workflow/1',
      steps: [
        call('a'),
        { id: 'list', type: 'transform', expression: '[1..3]' },
        { id: 'each', type: 'for_each', items: 'steps.list.output', concurrency: 2, do: [call('b')] },
        { id: 'both', type: 'parallel', branches: { left: [call('c')], right: [call('d')] } },
        call('e'),
      ],
    };
    const paths = ['a', 'each[0].b', 'each[1].b', 'each[2].b', 'both.left.c', 'both.right.d', 'e'];
    const { begin, settled } = await executionsOf(processes, definition);
    const total = 8 * paths.length;
    await fc.assert(
      // At which call it is killed.
      fc.asyncProperty(fc.integer({ min: 1, max: total - 1 }), async (point) => {
        service.calls.splice(0);
        const worker = await processes.start('worker');
        const reached = service.reached(point);
        const ids: string[] = [];
        const begun = begin(8).then((made) => void ids.push(...made));
        await reached;
        await kill(worker.child);
        await begun;
        const durable = await query<{ id: string; path: string }>(
          processes,
          `select execution_id as id, path from step_run where status = 'completed' and type = 'http' and execution_id = any($1)`,
          [ids],
        );
        const done = new Set(durable.map(({ id, path }) => keyOf(id, path)));
        const before = service.calls.filter(({ key }) => done.has(key)).length;
        const next = await processes.start('worker');
        expect((await settled(ids, 90)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
        expect(before).toBe(done.size);
        expect(service.calls.filter(({ key }) => done.has(key))).toHaveLength(before);
        for (const id of ids)
          for (const path of paths) {
            const count = service.calls.filter(({ key }) => key === keyOf(id, path)).length;
            expect([path, count === 1 || (count === 2 && !done.has(keyOf(id, path)))]).toEqual([path, true]);
          }
        expect((await next.stop('SIGTERM')).code).toBe(0);
      }),
      { numRuns: 3 },
    );
  });
});
