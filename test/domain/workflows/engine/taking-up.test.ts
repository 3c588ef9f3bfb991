import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Admission, type Weighed } from '../../../../src/domain/workflows/engine/admission.ts';
import { Engine } from '../../../../src/domain/workflows/engine/engine.ts';
import { weigh } from '../../../../src/domain/workflows/engine/lease.ts';
import { Tally } from '../../../../src/lib/fair-queue.ts';
import { shared } from '../../../support/app.ts';
import { call, newWebhook } from '../../../support/webhook.ts';
import { startExecutingApp, workflows } from '../../../support/workflows/executing.ts';
import { type Peer, startPeer } from '../../../support/workflows/peer.ts';

const app = shared(() => startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' }));
const webhook = shared(() => newWebhook(app));
beforeAll(() =>
  app.ask('PATCH', `${workflows}/${webhook.workflow}`, {
    body: { definition: 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: input.body.n}\n' },
  }),
);

/** Calls the webhook. @returns ids of the executions that wait to be taken up */
async function callWith(numbers: readonly number[]): Promise<string[]> {
  const headers = { authorization: `Bearer ${webhook.secret}`, 'content-type': 'application/json' };
  const answers = await Promise.all(
    numbers.map((n) => call(app.url, webhook.endpoint, { headers, body: JSON.stringify({ n }) })),
  );
  expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 202));
  return answers.map(({ body }) => body.executionId);
}

const outputsOf = (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await app.look(webhook.workflow, id)).output));

it('executions that are taken up together have what they were started with read in one query', async () => {
  const numbers = [1, 2, 3, 4, 5];
  const ids = await callWith(numbers);
  const execute = vi.spyOn(app.services.orm.em.getConnection(), 'execute');
  await app.services.workflows.engine.advance(ids);
  const reads = execute.mock.calls.map(([sql]) => String(sql)).filter((sql) => /from "?delivery"? /.test(sql));
  execute.mockRestore();
  await app.services.workflows.engine.idle();
  expect(reads).toHaveLength(1);
  expect(await outputsOf(ids)).toEqual(numbers);
});

it('one whose input cannot be read keeps no other', async () => {
  const ids = await callWith([1, 2, 3]);
  await app.services.orm.em
    .fork()
    .execute(`update delivery set body = 'x', raw_size = 9 where execution_id = ?`, [ids[1]]);
  await app.services.workflows.engine.advance(ids);
  await app.services.workflows.engine.idle();
  const [first, , third] = await outputsOf(ids);
  expect([first, third]).toEqual([1, 3]);
  expect(app.log.some((line) => line.includes('could not be advanced') && line.includes(String(ids[1])))).toBe(true);
});

describe('executions that do not fit the memory of their process together', () => {
  let peer: Peer;
  let engine: Engine;
  beforeEach(async () => {
    peer = await startPeer(() => true);
    // Of which a workflow has 2,250 for executions that are not light.
    engine = new Engine(() => app.services, { calls: 50, memory: 6_000 });
  });
  afterEach(async () => {
    peer.open();
    await engine.close();
    app.jobs.splice(0);
    await peer.close();
  });

  /** Begins executions whose inputs have some 800 bytes each, or more, and that wait for the peer. */
  async function begin(count: number, length = 800): Promise<string[]> {
    const url = `${peer.url}/\${{ input.n }}`;
    const workflow = await app.save({ portico: 'workflow/1', steps: [{ id: 'a', type: 'http', method: 'POST', url }] });
    const ids: string[] = [];
    for (let n = 1; n <= count; n += 1) ids.push(await app.begin(workflow, { n, text: 'x'.repeat(length) }));
    app.jobs.splice(0);
    return ids;
  }
  const driven = () =>
    app.services.orm.em
      .fork()
      .execute<{ id: string }[]>('select id from execution where driver_id is not null order by id')
      .then((rows) => rows.map(({ id }) => id));

  it('are taken up one after the other, in their order, when those before are gone', async () => {
    const ids = await begin(5);
    await engine.advance(ids);
    expect([engine.active, await driven()]).toEqual([2, ids.slice(0, 2).sort()]);
    await peer.reached(2);
    for (const count of [3, 4, 5]) {
      peer.answer();
      await peer.reached(count);
    }
    peer.open();
    await engine.idle();
    expect(peer.calls.slice(2).map(({ path }) => path)).toEqual(['/3', '/4', '/5']);
    expect(await driven()).toEqual([]);
  });

  it('wait once, however often their jobs are sent', async () => {
    const ids = await begin(3);
    await engine.advance(ids);
    await engine.advance(ids);
    await peer.reached(2);
    expect(engine.active).toBe(2);
    peer.open();
    await peer.reached(3);
    await engine.idle();
    expect(peer.calls).toHaveLength(3);
  });

  it('keep no lease from being renewed, however many there are', async () => {
    const [id = '', ...others] = await begin(3);
    await engine.advance([id, ...others.slice(0, 1)]);
    await peer.reached(2);
    const em = app.services.orm.em.fork();
    const copies = await em.execute<{ id: string }[]>(
      `insert into execution select (jsonb_populate_record(execution, jsonb_build_object('id', gen_random_uuid()))).*
       from execution, generate_series(1, 10100) where id = ? returning id`,
      [others[1]],
    );
    for (let at = 0; at < copies.length; at += 1_000) {
      const advanced = engine.advance(copies.slice(at, at + 1_000).map((row) => row.id));
      if (at < 10_000) await advanced;
    }
    await em.execute(`update execution set suspect = 'waiting' where id = ?`, [others[1]]);
    await engine.listen({ renew: true });
    await engine.listen({ renew: true });
    await em.execute('delete from execution where id in (select id from execution where driver_id is null)');
  });

  it('wait behind none that has ended, or is advanced elsewhere', async () => {
    const em = app.services.orm.em.fork();
    const [copied] = await em.execute<{ id: number }[]>(
      `with copy as (insert into organization select (jsonb_populate_record(organization,
           jsonb_build_object('id', id + 1000, 'machine_name', 'other'))).* from organization limit 1 returning id)
       insert into project select (jsonb_populate_record(project,
           jsonb_build_object('id', project.id + 1000, 'uuid', gen_random_uuid(), 'organization_id', copy.id))).* from project, copy limit 1 returning id`,
    );
    const others = await begin(2);
    for (const sql of [
      'update workflow set project_id = ? where id in (select workflow_id from execution where id in (?, ?))',
      'update execution set project_id = ? where id in (?, ?)',
    ])
      await em.execute(sql, [copied?.id, ...others]);
    const own = await begin(2);
    const [cancelled = '', elsewhere = '', left = ''] = await begin(3, 1_600);
    await engine.advance([...others, ...own]);
    expect(engine.active).toBe(4);
    await engine.advance([cancelled, elsewhere, left]);
    await em.execute(`update execution set status = 'cancelled' where id = ?`, [cancelled]);
    await em.execute(`update execution set driver_id = gen_random_uuid() where id = ?`, [elsewhere]);
    const waiting = () => [cancelled, elsewhere, left].map((id) => engine.isWaiting(id));
    expect(waiting()).toEqual([true, true, true]);
    await engine.listen({ renew: true });
    expect(waiting()).toEqual([false, false, true]);
    await em.execute('delete from execution where id in (?, ?)', [cancelled, elsewhere]);
  });

  it('have their jobs sent again when the process stops', async () => {
    const ids = await begin(4);
    await engine.advance(ids);
    await peer.reached(2);
    peer.open();
    await engine.close();
    expect(app.jobs).toEqual(expect.arrayContaining(ids.slice(2)));
    expect(peer.calls).toHaveLength(2);
  });

  it('are weighed before they are read, by what their bodies may inflate to', async () => {
    const send = async (body: Uint8Array<ArrayBuffer>, coding: Record<string, string>) => {
      const headers = { authorization: `Bearer ${webhook.secret}`, 'content-type': 'application/json', ...coding };
      return (await call(app.url, webhook.endpoint, { headers, body })).body.executionId as string;
    };
    const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(100_000) }));
    const ids = [await send(body, {}), await send(Buffer.from(gzipSync(body)), { 'content-encoding': 'gzip' })];
    const weights = async () => {
      const weighed = await weigh(app.services.orm.em.fork(), app.services, ids);
      return weighed.map(({ bytes }) => bytes);
    };
    const [plain = 0, packed = 0] = await weights();
    expect(plain).toBe(2 * body.length);
    expect(packed).toBeGreaterThanOrEqual(body.length);
    await app.settle();
    expect(await weights()).toEqual([0, 0]);
  });

  it('are weighed with their step runs', async () => {
    const steps = [
      { id: 'a', type: 'transform', expression: 'input & input' },
      { id: 'b', type: 'wait_for_input' },
    ];
    const id = await app.begin(await app.save({ portico: 'workflow/1', steps }), 'x'.repeat(1_000));
    await app.settle();
    const [weighed] = await weigh(app.services.orm.em.fork(), app.services, [id]);
    expect(weighed?.bytes).toBeGreaterThanOrEqual(3_000);
  });
});

describe('memory for executions', () => {
  const kibibyte = 1024;
  /** Of 4 MiB, light ones of up to 1 KiB have 1 MiB, heavy ones 3. */
  const makeAdmission = (now = () => 0) => new Admission(4 * kibibyte * kibibyte, now);
  const of = (organization_id: number, id: string, bytes: number, workflow_id = `of ${organization_id}`): Weighed => ({
    id,
    caller: { workflow_id, organization_id },
    bytes,
  });

  it('is shared by workflows, and what waits of one goes in its order', () => {
    const admission = makeAdmission();
    const half = 1.5 * kibibyte * kibibyte;
    admission.add([of(1, 'a', half), of(1, 'b', half), of(2, 'c', half), of(1, 'd', 2_000), of(2, 'e', half)]);
    // "b" would be more than half of what is for heavy ones, and "d" is behind it.
    expect(admission.take(10)).toEqual(['a', 'c']);
    expect([...admission.waiting.keys()]).toEqual(['b', 'd', 'e']);
    admission.release('a');
    expect(admission.take(10)).toEqual(['b']);
    admission.release('c');
    expect(admission.take(10)).toEqual(['e']);
  });

  it('is held by no workflow alone, and by no organisation', () => {
    const admission = makeAdmission();
    const some = 0.7 * kibibyte * kibibyte;
    const take = (...executions: Weighed[]) => {
      admission.add(executions);
      return admission.take(10);
    };
    expect(take(...['a', 'b', 'c'].map((id) => of(1, id, some, 'slow')))).toEqual(['a', 'b']);
    expect(take(of(1, 'd', some, 'other'), of(1, 'e', 2_000, 'third'))).toEqual(['d', 'e']);
    expect(take(of(1, 'f', some, 'fourth'))).toEqual([]);
    expect(take(of(2, 'g', some))).toEqual(['g']);
    expect([...admission.waiting.keys()]).toEqual(['c', 'f']);
  });

  /** Four workflows of each of two organisations take all there is. @returns one of theirs ends, and comes again; what is taken up then */
  function keepBusy(admission: Admission): () => string[] {
    const all = [1, 2].flatMap((organization) =>
      Array.from({ length: 40 }, (_, n) =>
        of(organization, `${organization}.${n}`, 100 * kibibyte, `${organization}.${n % 4}`),
      ),
    );
    const held: string[] = [];
    const take = () => {
      const ids = admission.take(100);
      held.push(...ids);
      return ids;
    };
    admission.add(all);
    take();
    return () => {
      const ended = held.shift() ?? '';
      admission.release(ended);
      admission.add(all.filter(({ id }) => id === ended));
      return take();
    };
  }

  it.each([200, 500, 1_000, 1_500])('is there for one of %i KiB while smaller ones of others come and go', (size) => {
    const admission = makeAdmission();
    const next = keepBusy(admission);
    admission.add([of(3, 'large', size * kibibyte)]);
    const taken: string[] = [];
    for (let ends = 0; ends < 100 && !taken.includes('large'); ends += 1) taken.push(...next());
    expect(taken).toContain('large');
  });

  it('is left to others after a while by one for which nothing ends', () => {
    let now = 0;
    const admission = makeAdmission(() => now);
    admission.hold(of(1, 'slow', 1_500 * kibibyte));
    admission.hold(of(2, 'steady', 500 * kibibyte));
    const take = (...executions: Weighed[]) => {
      admission.add(executions);
      return admission.take(10);
    };
    expect(take(of(3, 'large', 1_400 * kibibyte), of(2, 'a', 10 * kibibyte))).toEqual([]);
    now = 9_999;
    expect(take()).toEqual([]);
    now = 10_000;
    expect(take(of(2, 'b', 10 * kibibyte))).toEqual(['a', 'b']);
    now = 20_000;
    expect(take(of(2, 'c', 10 * kibibyte))).toEqual([]);
    admission.release('slow');
    expect(take()).toEqual(['large', 'c']);
  });

  it('has a reserve for first executions beside one that waits, but no more', () => {
    const admission = makeAdmission();
    admission.hold(of(1, 'slow', 1_400 * kibibyte));
    admission.hold(of(2, 'steady', 600 * kibibyte));
    const take = (...executions: Weighed[]) => {
      admission.add(executions);
      return admission.take(10);
    };
    expect(take(of(2, 'large', 1_200 * kibibyte, 'another'))).toEqual([]);
    expect(take(of(2, 'second', 100 * kibibyte))).toEqual([]);
    const first = ['a', 'b', 'c', 'd'].map((id, at) => of(at + 3, id, 100 * kibibyte));
    expect(take(...first)).toEqual(['a', 'b', 'c']);
  });

  it('is not kept for one whose organisation has come to hold its share', () => {
    const admission = makeAdmission();
    admission.hold(of(1, 'slow', 1_200 * kibibyte));
    admission.hold(of(2, 'grows', 700 * kibibyte));
    admission.hold(of(3, 'first', 100 * kibibyte));
    admission.add([of(2, 'large', 1_200 * kibibyte, 'another'), of(3, 'second', 10 * kibibyte)]);
    expect(admission.take(10)).toEqual([]);
    admission.hold(of(2, 'grows', 1_200 * kibibyte));
    expect(admission.take(10)).toEqual(['second']);
  });

  it('is waited for by as many of a workflow as may be, and by the first of another', () => {
    const admission = makeAdmission();
    const heavy = 1_000 * kibibyte;
    admission.hold(of(1, 'slow', 2 * heavy));
    const many = Array.from({ length: 10_001 }, (_, n) => of(1, `${n}`, heavy));
    admission.add(many);
    admission.add([of(2, 'other', 3 * heavy)]);
    expect(admission.waiting.size).toBe(10_001);
    expect([admission.waiting.has('9999'), admission.waiting.has('10000'), admission.waiting.has('other')]).toEqual([
      true,
      false,
      true,
    ]);
    admission.add([of(1, 'light', 10)]);
    expect(admission.take(10)).toEqual(['light']);
  });

  it('is there for light executions while heavy ones wait', () => {
    const admission = makeAdmission();
    admission.add([of(1, 'huge', 90 * kibibyte * kibibyte), of(1, 'heavy', 2_000), of(1, 'light', 1_000)]);
    // One is always taken up, whatever it takes.
    expect(admission.take(10)).toEqual(['huge', 'light']);
    admission.hold(of(1, 'huge', 500));
    expect(admission.take(10)).toEqual(['heavy']);
  });

  it('is looked for in one pass for all that are taken up together, and again only when something has changed', () => {
    const admission = makeAdmission();
    admission.hold(of(1, 'slow', 1_900 * kibibyte));
    admission.add(Array.from({ length: 1_000 }, (_, n) => of(1, `waits ${n}`, 1_000 * kibibyte, `${n}`)));
    admission.add(Array.from({ length: 100 }, (_, n) => of(2, `small ${n}`, 2_000, `small ${n}`)));
    // Each look at one that waits takes a few of these.
    const looks = vi.spyOn(Tally.prototype, 'of');
    expect(admission.take(100)).toHaveLength(100);
    expect(admission.take(100)).toEqual([]);
    expect(looks.mock.calls.length).toBeLessThan(10_000);
    looks.mockClear();
    expect(admission.take(100)).toEqual([]);
    admission.hold(of(3, 'light', 100));
    admission.release('light');
    expect(admission.take(100)).toEqual([]);
    expect(looks.mock.calls.length).toBeLessThan(100);
    looks.mockRestore();
  });

  it('is needed by nothing that is not read', () => {
    const admission = makeAdmission();
    admission.hold(of(1, 'a', kibibyte * kibibyte));
    admission.add([{ id: 'b', caller: null, bytes: 0 }]);
    expect(admission.take(1)).toEqual(['b']);
  });
});

describe('memory that executions hold for some time', () => {
  const mebibyte = 1024 * 1024;

  interface Coming {
    kind: string;
    organization: number;
    workflow?: string;
    /** MiB. */
    size: number;
    seconds: number;
  }

  /** Executions that come and go in 288 MiB, of which heavy ones have 216, by a clock that is moved on by hand. */
  function makeFlow() {
    let now = 0;
    const admission = new Admission(288 * mebibyte, () => now);
    const known = new Map<string, Coming & { came: number }>();
    const held = new Map<string, number>();
    /** How long one of a kind has waited at most, seconds. */
    const longest: Record<string, number> = {};
    const take = () => {
      for (let ids = admission.take(100); ids.length > 0; ids = admission.take(100)) {
        for (const id of ids) {
          const one = known.get(id);
          if (!one) continue;
          longest[one.kind] = Math.max(longest[one.kind] ?? 0, now / 1_000 - one.came);
          held.set(id, now + 1_000 * one.seconds);
        }
      }
    };
    return {
      come(one: Coming): void {
        const { organization: organization_id, workflow: workflow_id = one.kind, size } = one;
        const id = `${one.kind} ${known.size}`;
        known.set(id, { ...one, came: now / 1_000 });
        admission.add([{ id, caller: { workflow_id, organization_id }, bytes: Math.floor(size * mebibyte) }]);
        take();
      },
      /** Lets time pass, seconds. @param each what comes at each of its steps, by their number */
      pass(seconds: number, step: number, each: (at: number) => void = () => {}, isEnough = () => false): void {
        for (let at = 0; at < Math.round(seconds / step) && !isEnough(); at += 1) {
          each(at);
          now += 1_000 * step;
          for (const [id, until] of held) {
            if (until > now) continue;
            held.delete(id);
            admission.release(id);
            take();
          }
          take();
        }
      },
      /** How many of a kind wait. */
      waiting: (kind: string) => [...admission.waiting.keys()].filter((id) => known.get(id)?.kind === kind).length,
      longest: (kind: string) => longest[kind] ?? Number.POSITIVE_INFINITY,
    };
  }
  type Flow = ReturnType<typeof makeFlow>;

  /** Workflows of two organisations that have more executions than there is room for. */
  function keepBusy(flow: Flow, secondsOf: (n: number) => number): () => void {
    let n = 0;
    return () => {
      for (const organization of [1, 2]) {
        for (const workflow of ['a', 'b']) {
          const kind = `${organization}${workflow}`;
          for (let waiting = flow.waiting(kind); waiting < 3; waiting += 1)
            flow.come({ kind, organization, size: 1, seconds: secondsOf(n++) });
        }
      }
    };
  }

  it.each([
    ['half a minute to one and a half', 80, (n: number) => 30 + ((n * 7_919) % 60)],
    ['twenty seconds, as long as it takes until the next are let past it', 80, () => 20],
    ['five minutes', 10, (n: number) => 150 + ((n * 7_919) % 300)],
  ])('is there in time for a large one beside executions of %s', (_, size, secondsOf) => {
    const flow = makeFlow();
    const busy = keepBusy(flow, secondsOf);
    flow.pass(120, 0.5, busy);
    flow.come({ kind: 'large', organization: 3, size, seconds: 1 });
    flow.pass(600, 0.5, busy, () => flow.waiting('large') === 0);
    expect(flow.longest('large')).toBeLessThan(150);
  });

  it.each([
    ['one workflow', 1.5, () => 'small'],
    ['as many workflows, which hold the reserve', 15, (at: number) => `small ${at}`],
  ])('is there for one that needs all of it beside one small execution a second of %s', (_, seconds, workflowOf) => {
    const flow = makeFlow();
    const small = (at: number) =>
      flow.come({ kind: 'small', organization: 1, workflow: workflowOf(at), size: 0.1, seconds });
    flow.pass(20, 1, small);
    flow.come({ kind: 'large', organization: 2, size: 220, seconds: 1 });
    flow.pass(
      600,
      1,
      (at) => small(at + 20),
      () => flow.waiting('large') === 0,
    );
    expect(flow.longest('large')).toBeLessThan(90);
  });

  /** All but the reserve is held for a quarter of an hour, or kept for an execution that waits for that. */
  function makeBlocked(): Flow {
    const flow = makeFlow();
    for (let n = 0; n < 5; n += 1) flow.come({ kind: 'slow', organization: 1, size: 20, seconds: 900 });
    flow.come({ kind: 'slower', organization: 2, size: 60, seconds: 900 });
    flow.come({ kind: 'large', organization: 2, size: 60, seconds: 1 });
    expect(flow.waiting('large')).toBe(1);
    return flow;
  }
  const fresh = (at: number, size = 1): Coming => ({
    kind: 'fresh',
    organization: 100 + at,
    workflow: `fresh ${at}`,
    size,
    seconds: 0.1,
  });

  it('has a reserve that is given back', () => {
    const flow = makeBlocked();
    flow.pass(120, 0.1, (at) => at % 2 === 0 && flow.come(fresh(at)));
    expect(flow.longest('fresh')).toBe(0);
  });

  it('has a reserve of which what has passed in an earlier phase takes nothing', () => {
    const flow = makeBlocked();
    flow.pass(10, 0.1, (at) => at % 3 === 0 && at < 80 && flow.come(fresh(at)));
    flow.pass(10, 0.1);
    flow.pass(10, 0.1, (at) => at % 10 === 5 && flow.come({ ...fresh(1_000 + at), kind: 'later' }));
    expect(flow.longest('later')).toBe(0);
  });

  it('has a reserve that no organisation uses up with many workflows', () => {
    const flow = makeBlocked();
    flow.pass(60, 0.1, (at) => {
      for (let n = 0; n < 3; n += 1)
        flow.come({ kind: 'many', organization: 9, workflow: `many ${(3 * at + n) % 40}`, size: 1, seconds: 2 });
      if (at % 10 === 5) flow.come(fresh(at, 0.1));
    });
    expect(flow.longest('fresh')).toBe(0);
    expect(flow.waiting('many')).toBeGreaterThan(0);
  });

  it('is kept for none that no longer waits', () => {
    const admission = new Admission(288 * mebibyte, () => 0);
    const weighed = (id: string, organization_id: number, size: number): Weighed => ({
      id,
      caller: { workflow_id: id, organization_id },
      bytes: size * mebibyte,
    });
    for (const organization of [1, 2]) admission.hold(weighed(`slow ${organization}`, organization, 70));
    admission.add([weighed('large', 3, 100), weighed('other', 4, 40)]);
    expect(admission.take(10)).toEqual([]);
    expect(admission.claimants(10)).toEqual(['large']);
    // It has ended, as its job says that is sent once more.
    admission.add([{ id: 'large', caller: null, bytes: 0 }]);
    expect(admission.take(10)).toEqual(['other', 'large']);
    expect(admission.claimants(10)).toEqual([]);
  });
});
