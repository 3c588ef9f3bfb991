import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { beat, removeLostWorkers } from '../../../../src/domain/workflows/engine/workers.ts';
import { DomainError } from '../../../../src/kernel/errors.ts';
import { shared } from '../../../support/app.ts';
import { startExecutingApp, workflows } from '../../../support/workflows/executing.ts';
import { type Peer, startPeer } from '../../../support/workflows/peer.ts';

const app = shared(() => startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' }));
let peer: Peer;
let workflow: string;
beforeEach(async () => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  peer = await startPeer(() => true);
  workflow = await app.save({
    portico: 'workflow/1',
    steps: [{ id: 'call', type: 'http', method: 'POST', url: `${peer.url}/call` }],
  });
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await peer.close();
  await sql('delete from execution returning id');
  await sql('delete from worker returning id');
  app.jobs.splice(0);
});

const sql = <T extends object>(text: string, values: unknown[] = []) =>
  app.services.orm.em.fork().execute<T[]>(text, values);
const bury = () => removeLostWorkers(app.services, app.services.workflows.engine.id);
const standing = (id: string) =>
  sql<{
    suspect: string | null;
    suspect_group: number | null;
    crashes: number;
    driver_id: string | null;
    waiting_until: Date | string | null;
  }>('select suspect, suspect_group, crashes, driver_id, waiting_until from execution where id = ?', [id]).then(
    ([row]) => row,
  );

/** Begins executions, in the order of their ids, that no process has taken up. */
async function begin(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let begun = 0; begun < count; begun += 1) {
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1);
    ids.push(await app.begin(workflow));
  }
  app.jobs.splice(0);
  return ids;
}

/** A process that has taken executions up and died before any of them acted; `suspect` says how it held them. */
async function take(ids: readonly string[], suspect: 'waiting' | 'acting' | null = null): Promise<string> {
  const worker = randomUUID();
  const hold = 'update execution set driver_id = ?, suspect = ?, attempt = attempt + 1 where id = ? returning id';
  for (const id of ids) await sql(hold, [worker, suspect, id]);
  return worker;
}

/** Notes that the step of an execution acts. */
const act = (id: string, em = app.services.orm.em.fork()) =>
  em.execute(
    `insert into step_run (execution_id, path, position, step_id, type, status) values (?, 'call', 1, 'call', 'http', 'running')`,
    [id],
  );

/** A process that has taken executions up and died while they acted. */
async function die(ids: readonly string[], suspect: 'waiting' | 'acting' | null = null): Promise<string> {
  for (const id of ids) await act(id);
  return take(ids, suspect);
}

/** What the log says of losses. */
async function losses(id: string) {
  const { body } = await app.ask('GET', `${workflows}/${workflow}/executions/${id}/events`);
  return (body as { type: string; data: object }[]).filter(({ type }) => type === 'log').map(({ data }) => data);
}

describe('a process that dies', () => {
  it('leaves suspects, none of which it counts against when several were acting', async () => {
    const ids = await begin(3);
    const worker = await die(ids);
    expect(await bury()).toBe(3);
    for (const id of ids) {
      expect(await standing(id)).toMatchObject({
        suspect: 'waiting',
        crashes: 0,
        driver_id: null,
        waiting_until: null,
      });
      expect(await losses(id)).toMatchObject([{ level: 'warn', worker, reason: 'silent', counted: false, losses: 0 }]);
    }
    expect([...app.jobs].sort()).toEqual(ids);
    expect(await bury()).toBe(0);
    expect(await losses(ids[0] as string)).toHaveLength(1);
  });

  it('is recorded once, with what was acting in it', async () => {
    const ids = await begin(3);
    const worker = await die(ids.slice(0, 2));
    await die(ids.slice(2), 'waiting');
    await sql(`update execution set driver_id = ? where id = ? returning id`, [worker, ids[2]]);
    await beat(app.services.orm.em.fork(), worker);
    await sql(`update worker set alive_until = '-infinity' where id = ? returning id`, [worker]);
    expect(await bury()).toBe(3);
    const [row] = await sql<{ acting: string[]; lost_reason: string }>(
      'select acting::text[], lost_reason from worker where id = ? and lost_at is not null',
      [worker],
    );
    expect([row?.lost_reason, [...(row?.acting ?? [])].sort()]).toEqual(['restarted', ids.slice(0, 2)]);
    // The one that waited for its turn was not acting, and nothing is said of it.
    expect(await losses(ids[2] as string)).toEqual([]);
  });

  it('counts against the suspect that acted alone, not against what ran beside it', async () => {
    const [alone = '', beside = ''] = await begin(2);
    const worker = await die([alone], 'acting');
    await die([beside]);
    await sql('update execution set driver_id = ? where id = ? returning id', [worker, beside]);
    await bury();
    expect(await standing(alone)).toMatchObject({ suspect: 'waiting', crashes: 1 });
    expect(await standing(beside)).toMatchObject({ suspect: 'waiting', crashes: 0 });
    expect(app.jobs).toEqual([beside]);
    expect(await losses(alone)).toMatchObject([{ counted: true, losses: 1, until: expect.any(String) }]);
  });

  it.each([['beside others that acted'], ['when nothing in it had acted']])(
    'leaves no suspicion on what it had only taken up, %s, until that has happened too often',
    async (how) => {
      const [acted = '', taken = '', often = ''] = await begin(3);
      const worker = await take([acted, taken, often]);
      if (how === 'beside others that acted') await act(acted);
      await sql('update execution set attempt = 5 where id = ? returning id', [taken]);
      await sql('update execution set attempt = 6 where id = ? returning id', [often]);
      expect(await bury()).toBe(3);
      const rows = await Promise.all([acted, taken, often].map(standing));
      const first = how === 'beside others that acted' ? 'waiting' : null;
      expect(rows.map((row) => row?.suspect)).toEqual([first, null, 'waiting']);
      expect(rows.map((row) => row?.crashes)).toEqual([0, 0, 0]);
      expect(rows.map((row) => row?.driver_id)).toEqual([null, null, null]);
      expect(await losses(taken)).toEqual([]);
      expect(await losses(often)).toMatchObject([{ worker, counted: false }]);
      expect(await losses(acted)).toMatchObject(first === null ? [] : [{ worker, counted: false }]);
      expect([...app.jobs].sort()).toEqual([acted, taken, often]);
    },
  );

  it('counts against the only execution it had taken up, though that was not seen to act', async () => {
    const [only = ''] = await begin(1);
    await take([only]);
    await bury();
    expect(await standing(only)).toMatchObject({ suspect: 'waiting', crashes: 1 });
    expect(await losses(only)).toMatchObject([{ counted: true, losses: 1 }]);
  });

  it('counts five losses against an execution that kills each of its processes before it acts, and none against those taken up beside it', async () => {
    const ids = await begin(4);
    const [killer = ''] = ids;
    const driven = (id: string, worker: string, suspect: string | null) =>
      sql(`update execution set driver_id = ?, suspect = ?, attempt = attempt + 1 where id = ? returning id`, [
        worker,
        suspect,
        id,
      ]);
    let deaths = 0;
    // As the engine takes them up: what is not suspected at once, and of the suspects the first.
    while (((await standing(killer))?.crashes ?? 0) < 5) {
      const worker = randomUUID();
      const rows = await Promise.all(ids.map(standing));
      for (const [index, id] of ids.entries()) if (rows[index]?.suspect === null) await driven(id, worker, null);
      const first = ids.find((_, index) => rows[index]?.suspect === 'waiting');
      if (first !== undefined) await driven(first, worker, 'acting');
      await bury();
      deaths += 1;
      expect(deaths).toBeLessThan(12);
    }
    const rows = await Promise.all(ids.map(standing));
    expect(rows.map((row) => row?.crashes)).toEqual([5, 0, 0, 0]);
    expect(deaths).toBe(11);
  });

  it.each([
    [0, 2_000],
    [1, 8_000],
    [2, 30_000],
    [3, 120_000],
  ])('after %d losses before it an execution waits %d ms, and not longer', async (crashes, wait) => {
    const [id = ''] = await begin(1);
    await sql('update execution set crashes = ? where id = ? returning id', [crashes, id]);
    await die([id]);
    peer.open();
    await app.pass(0);
    await app.pass(wait - 1);
    // Whatever else sends a job for it.
    app.jobs.push(id);
    await app.settle();
    expect(peer.calls).toHaveLength(0);
    await app.pass(1);
    expect(await app.look(workflow, id)).toMatchObject({ status: 'completed' });
    expect(await standing(id)).toMatchObject({ crashes: 0, suspect: null });
  });

  it.each([
    [1, 2_000],
    [4, 120_000],
  ])(
    'after loss %d is waited for %d ms beside the minute in which a clock that is set back is noticed',
    async (crashes, wait) => {
      const [id = ''] = await begin(1);
      await sql('update execution set crashes = ? where id = ? returning id', [crashes - 1, id]);
      await die([id]);
      peer.open();
      await app.pass(0);
      await app.pass(-3_600_000);
      await app.pass(wait - 1);
      expect(peer.calls).toHaveLength(0);
      await app.pass(1);
      expect(await app.look(workflow, id)).toMatchObject({ status: 'completed' });
    },
  );

  it('for the fifth time fails the execution at once', async () => {
    const [id = ''] = await begin(1);
    await sql('update execution set crashes = 4 where id = ? returning id', [id]);
    await die([id]);
    await app.pass(0);
    expect(await app.look(workflow, id)).toMatchObject({ status: 'failed', error: { code: 'crashed' } });
    expect(peer.calls).toHaveLength(0);
  });
});

describe('suspects', () => {
  const called = async (count: number) => {
    await peer.reached(count);
    // A process that acts too early would have called by the time the others have been looked at twice.
    for (let look = 0; look < 2; look += 1) await app.services.workflows.engine.listen({ renew: true });
    expect(peer.calls).toHaveLength(count);
  };

  it('act in groups that grow from one with each that a checkpoint clears, beside what is not suspected', async () => {
    // A group grows in time, too.
    vi.useFakeTimers({ toFake: ['performance'] });
    const ids = await begin(4);
    await die(ids);
    await bury();
    const settled = app.settle();
    await called(1);
    const held = await Promise.all(ids.map(standing));
    expect(held.map((row) => row?.suspect).sort()).toEqual(['acting', 'waiting', 'waiting', 'waiting']);
    // They are taken up all the same: their attempts say so.
    expect(held.every((row) => row?.driver_id === app.services.workflows.engine.id)).toBe(true);
    const fresh = await app.begin(workflow);
    const other = app.services.workflows.engine.advance([fresh]);
    await called(2);
    peer.answer();
    await called(4);
    peer.open();
    await Promise.all([settled, other]);
    await app.services.workflows.engine.idle();
    for (const id of [...ids, fresh]) {
      expect(await app.look(workflow, id)).toMatchObject({ status: 'completed' });
      expect(await standing(id)).toMatchObject({ suspect: null, suspect_group: null, crashes: 0 });
    }
  });

  it('act in a group of twice as many after every three seconds without a loss, though none is cleared', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const ids = await begin(8);
    await die(ids);
    await bury();
    const settled = app.settle();
    for (const group of [1, 2, 4, 8]) {
      await called(group);
      vi.advanceTimersByTime(3_000);
      await app.services.workflows.engine.listen({ renew: true });
    }
    peer.open();
    await settled;
  });

  it('of a group that dies may act in groups of half its size, and its loss counts against none of them', async () => {
    const ids = await begin(6);
    await die(ids.slice(0, 5), 'acting');
    await die(ids.slice(5));
    await sql(
      'update execution set driver_id = (select driver_id from execution where id = ?) where id = ? returning id',
      [ids[0], ids[5]],
    );
    await bury();
    const rows = await Promise.all(ids.map(standing));
    expect(rows.map((row) => [row?.suspect, row?.suspect_group, row?.crashes])).toEqual([
      ...ids.slice(0, 5).map(() => ['waiting', 2, 0]),
      ['waiting', null, 0],
    ]);
    for (const id of ids) expect(await losses(id)).toMatchObject([{ counted: false, losses: 0 }]);
  });

  it('that are cancelled while they wait end without their turn', async () => {
    const ids = await begin(2);
    await die(ids);
    await bury();
    const settled = app.settle();
    await called(1);
    const rows = await Promise.all(ids.map(standing));
    const waiting = ids[rows.findIndex((row) => row?.suspect === 'waiting')] as string;
    const path = `${workflows}/${workflow}/executions/${waiting}`;
    expect((await app.ask('POST', `${path}/cancel`)).status).toBe(200);
    await called(1);
    await vi.waitFor(async () => expect((await app.look(workflow, waiting)).status).toBe('cancelled'), 30_000);
    peer.open();
    await settled;
  });

  it('that many processes hold no more than fifty of are all executed in the end', async () => {
    peer.open();
    const ids = await begin(130);
    await die(ids);
    await bury();
    await app.settle();
    expect(await sql(`select status, count(*)::integer as count from execution group by status`)).toEqual([
      { status: 'completed', count: 130 },
    ]);
  });

  it('are handed back when the process stops', async () => {
    const own = await startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
    try {
      const id = await own.save({
        portico: 'workflow/1',
        steps: [{ id: 'call', type: 'http', url: `${peer.url}/call` }],
      });
      const ids = [await own.begin(id), await own.begin(id)];
      own.jobs.splice(0);
      const em = own.services.orm.em.fork();
      for (const each of ids) await act(each, em);
      await em.execute('update execution set driver_id = ?', [randomUUID()]);
      await removeLostWorkers(own.services, own.services.workflows.engine.id);
      own.jobs.splice(0);
      await own.services.workflows.engine.advance(ids);
      await peer.reached(1);
      peer.open();
      await own.services.workflows.engine.close();
      const rows = await em.execute<{ id: string; status: string; driver_id: string | null; crashes: number }[]>(
        'select id, status, driver_id, crashes from execution',
      );
      const open = rows.filter(({ status }) => status !== 'completed').map((row) => row.id);
      expect(rows.map(({ driver_id, crashes }) => [driver_id, crashes])).toEqual([
        [null, 0],
        [null, 0],
      ]);
      expect([...new Set(own.jobs)].sort()).toEqual(open.sort());
      expect(open).toHaveLength(1);
    } finally {
      await own.stop();
    }
  });
});

describe('who is taken for dead', () => {
  const alive = (id: string, seconds: number) =>
    sql(`update worker set alive_until = now() + interval '1 second' * ? where id = ? returning id`, [seconds, id]);
  const steady = (id: string, seconds: number) =>
    sql(`update worker set steady_since = now() - interval '1 second' * ? where id = ? returning id`, [seconds, id]);
  const em = () => app.services.orm.em.fork();

  /** One process that holds an execution, and another one that judges. */
  async function two() {
    const [id = ''] = await begin(1);
    const worker = await die([id]);
    const judge = randomUUID();
    for (const each of [worker, judge]) await beat(em(), each);
    await steady(judge, 60);
    return { id, worker, judge, look: () => removeLostWorkers(app.services, judge) };
  }

  it('a process whose time is over, not one whose time is not', async () => {
    const { worker, look } = await two();
    await alive(worker, 5);
    expect(await look()).toBe(0);
    await alive(worker, -1);
    expect(await look()).toBe(1);
    expect(await beat(em(), worker)).toBe(false);
  });

  it('none, by a process that was out of touch with the database itself', async () => {
    const { worker, judge, look } = await two();
    await alive(worker, -20);
    await alive(judge, -20);
    expect(await look()).toBe(0);
    // The database is back: live processes have the time to send a heartbeat.
    expect(await beat(em(), judge)).toBe(true);
    expect(await look()).toBe(0);
    await steady(judge, 9);
    expect(await look()).toBe(0);
    expect(await beat(em(), worker)).toBe(true);
    await steady(judge, 11);
    expect(await look()).toBe(0);
    await alive(worker, -1);
    expect(await look()).toBe(1);
  });

  it('one whose sign of life lies an hour ahead, since the clock was set back', async () => {
    const { worker, judge, look } = await two();
    await alive(worker, 3_600);
    await alive(judge, 3_600);
    await steady(judge, -3_500);
    expect(await look()).toBe(0);
    for (const each of [judge, worker]) expect(await beat(em(), each)).toBe(true);
    await steady(judge, 11);
    expect(await look()).toBe(0);
    await alive(worker, 3_600);
    expect(await look()).toBe(1);
  });

  it('and goes on under another name, its executions dropped, when it was not', async () => {
    const { engine } = app.services.workflows;
    await engine.listen({ renew: true });
    const before = engine.id;
    const [id = ''] = await begin(1);
    app.jobs.push(id);
    const settled = app.settle();
    await peer.reached(1);
    await sql(`update worker set lost_at = now() where id = ? returning id`, [before]);
    await removeLostWorkers(app.services, randomUUID());
    await engine.listen({ renew: true });
    expect(engine.id).not.toBe(before);
    peer.open();
    await app.pass(2_000);
    await settled;
    expect(await app.look(workflow, id)).toMatchObject({ status: 'completed', attempt: 2 });
  });
});

it('a database that goes away under a driver counts for nothing', async () => {
  peer.open();
  const [id = ''] = await begin(1);
  const { events } = app.services;
  const away = vi.spyOn(events, 'append').mockRejectedValue(new DomainError('unavailable', 'away'));
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  app.jobs.push(id);
  const settled = app.settle();
  await vi.waitFor(() => expect(app.log.some((line) => line.includes('could not be advanced'))).toBe(true), 30_000);
  vi.useRealTimers();
  await settled;
  away.mockRestore();
  await app.services.workflows.engine.listen({ renew: false });
  expect(await standing(id)).toMatchObject({ crashes: 0, suspect: null, driver_id: null });
  await app.pass(2_000);
  expect(await app.look(workflow, id)).toMatchObject({ status: 'completed' });
});
