import { EventEmitter } from 'node:events';
import { type ClientRequest, request, type ServerResponse } from 'node:http';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { branchSubject } from '../../src/domain/studio/repository/branch-moves.operations.ts';
import { EventWriter, streamTimes } from '../../src/graphql/stream/stream.ts';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { shared } from '../support/app.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(() => graphqlApp({ streams: { heartbeat: 50, patience: 1_500, poll: 50 } }));
const open: (EventStream | ClientRequest)[] = [];

const query = (after: number) =>
  `subscription { branchMoved(organization: "acme", project: "site", after: "${after}") { sha paths } }`;
const paths = Array.from({ length: 1000 }, (_, at) => `${'directory/'.repeat(20)}${at}.md`);
const events = 100;

beforeAll(async () => {
  const em = app.services.orm.em.fork();
  const [project] = await em.execute<{ id: number }[]>("select id from project where machine_name = 'site'");
  for (let count = 1; count <= events; count++)
    await app.services.events.publish(em, branchSubject(project?.id ?? 0, 'main'), () => ({ sha: `${count}`, paths }));
});
afterEach(() => {
  for (const each of open.splice(0)) 'destroy' in each ? each.destroy() : each.close();
});

/** Subscribes and takes nothing of the answer. */
function ignore(): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      Authorization: `Bearer ${app.full}`,
    };
    const outgoing = request(`${app.url}/graphql`, { method: 'POST', headers }, () => resolve());
    open.push(outgoing);
    outgoing.once('error', reject);
    outgoing.end(JSON.stringify({ query: query(0) }));
  });
}

const subscribe = async (after: number) => {
  const stream = await openStream(app.url, app.full, query(after));
  open.push(stream);
  return stream;
};

it('a reader who takes his time gets every event, in order', async () => {
  const stream = await subscribe(0);
  for (let count = 1; count <= events; count++) {
    const event = await stream.next();
    expect([event?.id, event?.data.data.branchMoved.sha]).toEqual([`${count}`, `${count}`]);
  }
});

it('events are read by their length, and one at least', async () => {
  const em = app.services.orm.em.fork();
  const [project] = await em.execute<{ id: number }[]>("select id from project where machine_name = 'site'");
  const read = (branch: string, after: number) =>
    app.services.events.read(em, branchSubject(project?.id ?? 0, branch), after);
  const { events: some, ...at } = await read('main', 0);
  expect(JSON.stringify(some).length).toBeLessThan(1024 * 1024);
  expect(at).toEqual({ position: some.length, more: true, missed: false });
  expect(some.length).toBeGreaterThan(1);
  for (const long of [true, true, false])
    await app.services.events.publish(em, branchSubject(project?.id ?? 0, 'long'), () => ({
      sha: null,
      paths: long ? ['x'.repeat(2 * 1024 * 1024)] : ['short'],
    }));
  for (const after of [0, 1, 2]) {
    const { events, more } = await read('long', after);
    expect([events.map(({ seq }) => seq), more]).toEqual([[after + 1], after < 2]);
  }
});

it('a reader who never reads is cut off, and delays no other', async () => {
  for (let count = 1; count < 20; count++) await subscribe(events);
  await ignore();
  expect((await subscribe(events)).status).toBe(429);
  // The place of the one who does not read becomes free.
  await expect.poll(async () => (await subscribe(events)).status, { timeout: 60_000 }).toBe(200);
});

describe('one event', () => {
  const tooLong = (message: string) => ({
    message,
    extensions: { code: 'PAYLOAD_TOO_LARGE', reason: 'too_large', request_id: expect.any(String) },
  });

  it('is no longer than an answer may be, and refused before it is written', async () => {
    const em = app.services.orm.em.fork();
    const [project] = await em.execute<{ id: number }[]>("select id from project where machine_name = 'site'");
    const long = 'x'.repeat(3_000_000);
    await app.services.events.publish(em, branchSubject(project?.id ?? 0, 'wide'), () => ({ sha: '1', paths: [long] }));
    const counted = vi.spyOn(answerMemory, 'add');
    const select = async (times: number) => {
      const fields = Array.from({ length: times }, (_, at) => `p${at}: paths`).join(' ');
      const stream = await openStream(
        app.url,
        app.full,
        `subscription { branchMoved(organization: "acme", project: "site", branch: "wide", after: "0") { ${fields} } }`,
      );
      open.push(stream);
      return stream;
    };
    const within = await (await select(2)).next();
    expect(Object.keys(within?.data.data.branchMoved)).toHaveLength(2);
    const beyond = await select(25);
    expect(await beyond.next()).toEqual({
      event: 'next',
      data: { errors: [tooLong('One answer has at most 67108864 bytes; select less, or a shorter page')] },
    });
    expect((await beyond.next())?.event).toBe('complete');
    expect(Math.max(...counted.mock.calls.map(([, bytes]) => bytes))).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  it('for which there is no room at the moment ends its stream without `complete`, so that the reader reconnects', async () => {
    const full = () => {
      throw new DomainError('unavailable', 'no room');
    };
    const add = vi.spyOn(answerMemory, 'add').mockImplementation(full);
    const wide = `subscription { branchMoved(organization: "acme", project: "site", branch: "wide", after: "0") { paths } }`;
    const stream = await openStream(app.url, app.full, wide);
    open.push(stream);
    expect(await stream.next()).toBeNull();
    expect(add).toHaveBeenCalled();
    add.mockRestore();
  });

  it('takes room for what is read for it as an answer does, each anew', async () => {
    const response = Object.assign(new EventEmitter(), {
      closed: false,
      writableEnded: false,
      writableNeedDrain: false,
      destroyed: false,
      writeHead: () => {},
      write: () => true,
      end: () => {},
      destroy: () => {},
    });
    const writer = new EventWriter(response as unknown as ServerResponse, 'somebody', streamTimes);
    const most = 32 * 1024 * 1024;
    for (const _ of [1, 2, 3]) {
      for (const __ of [1, 2]) await writer.room(most / 2);
      await expect(writer.room(1)).rejects.toThrow(`One answer holds at most ${most} bytes of files`);
      await writer.next({ data: null }, null);
    }
    // What is read without an event for it.
    for (let reading = 0; reading < 10; reading++) {
      writer.begin();
      await writer.room(most);
    }
    response.emit('close');
  });
});
