import { createClient } from 'graphql-sse';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Listener, listen } from '../../src/db/listener.ts';
import { hashToken } from '../../src/domain/identity/token-text.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { createEnvironment, updateEnvironment } from '../../src/domain/studio/environments/environments.operations.ts';
import { createPull, updatePull } from '../../src/domain/studio/pulls/write-pull.operations.ts';
import { changeChannel } from '../../src/domain/studio/watch/change-log.ts';
import { readChanges } from '../../src/domain/studio/watch/read-changes.operations.ts';
import { UserSession } from '../../src/domain/users/sessions.ts';
import { RefFiles } from '../../src/engines/git/refs/ref-files.ts';
import type { GraphqlContext } from '../../src/graphql/context.ts';
import { follow, type News } from '../../src/graphql/stream/follow.ts';
import { Pace } from '../../src/lib/concurrency.ts';
import { shared } from '../support/app.ts';
import { makePerson, signedIn } from '../support/browser.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { type GraphqlApp, graphqlApp } from '../support/graphql-app.ts';
import { iterationsDuring } from '../support/loop-iterations.ts';

// What arrives has been announced: nothing is looked for, but that rights are still there, every 750 ms.
const app = shared(() => graphqlApp({ streams: { heartbeat: 50, patience: 300, poll: 25 } }));
let listener: Listener;
const open: EventStream[] = [];

beforeAll(async () => {
  listener = listenTo(app);
  await listener.ready;
  await commit({
    'content/posts/2026/first.md': '---\ntitle: First\n---\n',
    'content/posts/second.md': '---\ntitle: B\n---\n',
  });
});
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});
afterAll(() => listener?.close());

/** Subscribes to notifications of the database, as a server does. */
function listenTo({ services }: GraphqlApp): Listener {
  const { changes } = services.studio;
  return listen({
    url: String(services.orm.config.get('clientUrl')),
    log: services.log,
    channels: {
      [changeChannel]: (payload) => changes.notify(payload),
      portico_grants: (payload) => services.grants.evict(payload as `organization:${number}`),
    },
    onState: (listening) => {
      changes.setListening(listening);
      services.grants.setListening(listening);
    },
  });
}

async function commit(files: Record<string, string | null>, branch = 'main'): Promise<string> {
  const git = await app.repository();
  const { commit: made } = await git.write({
    branch,
    author: { name: 'Seed', email: 'seed@portico.test' },
    plan: async () => ({
      changes: Object.entries(files).map(([path, text]) => ({
        path,
        content: text === null ? null : Buffer.from(text),
      })),
      message: 'Seed',
      result: null,
    }),
  });
  await app.services.studio.moves.settled();
  return made?.sha ?? '';
}

/** A branch of its own with a commit that main lacks. */
async function branch(name: string): Promise<string> {
  const git = await app.repository();
  await git.createBranch(name, (await git.head('main')) ?? '');
  return commit({ [`${name.replaceAll('/', '-')}.txt`]: name }, name);
}

const fields = '{ topic id version at position }';
const document = (topics: readonly string[], { project = 'site', after = '' } = {}) =>
  `subscription { watch(organization: "acme", project: "${project}", topics: ${JSON.stringify(topics)}${
    after && `, after: "${after}"`
  }) ${fields} }`;

async function subscribe(topics: readonly string[], at = {}, as: string | null = app.full) {
  const stream = await openStream(app.url, as, document(topics, at));
  open.push(stream);
  return stream;
}
const nextOf = async (stream: EventStream) => (await stream.next())?.data;
const eventOf = async (stream: EventStream) => (await nextOf(stream)).data.watch;
/** A stream whose first events have been read. */
async function watching(topics: readonly string[], at = {}, as = app.full) {
  const stream = await subscribe(topics, at, as);
  for (const _ of topics) await stream.next();
  return stream;
}
const errorsOf = async (stream: EventStream) =>
  (await nextOf(stream)).errors.map(({ message, extensions }: { message: string; extensions: { code: string } }) => [
    extensions.code,
    message,
  ]);

const entry = (name: string, of = 'main') => `entry:${[of, 'posts', name].map(encodeURIComponent).join('/')}`;
const versionOfEntry = async (slug: string, of = 'main') => {
  const query = `{ project(organization: "acme", project: "site") { studio { entry(collection: "posts", slug: "${slug}", branch: "${of}") { sha } } } }`;
  return (await app.query(query)).body.data.project.studio.entry.sha;
};

let environment: number | undefined;
async function deploy(): Promise<{ id: number; job: number }> {
  const execute = app.services.orm.em.fork();
  const draft = { organization: 'acme', project: 'site', name: 'live', branch: 'main', provider: 'static' };
  environment ??= ((await app.run(createEnvironment, draft)) as { id: number }).id;
  const [row] = await execute.execute<{ id: number }[]>(
    `insert into deployment (project_id, environment_id, run_number, branch, commit_sha, title, status, trigger, attempt, settings, created_at)
     select project_id, id, 1 + (select max(run_number) from deployment), 'main', ?, 'Run', 'in_progress', 'manual', 1, '{}', now()
     from environment where id = ? returning id`,
    ['a'.repeat(40), environment],
  );
  const id = row?.id ?? 0;
  const [job] = await execute.execute<{ id: number }[]>(
    `insert into deployment_job (deployment_id, name, position, status, steps, started_at)
     values (?, 'build', 0, 'in_progress', '[]', now()) returning id`,
    [id],
  );
  return { id, job: job?.id ?? 0 };
}
const pull = async (head: string): Promise<number> => {
  const at = { organization: 'acme', project: 'site' };
  return ((await app.run(createPull, { ...at, title: head, head })) as { number: number }).number;
};

describe('watch', () => {
  it('begins with the present version of each object, and names what is gone or unknown without one', async () => {
    const head = await branch('spring/one');
    const number = await pull('spring/one');
    const { id } = await deploy();
    const topics = [
      'branch',
      'branch:spring/one',
      `pull:${number}`,
      entry('2026/first'),
      entry('none'),
      `deployment:${id}`,
      'pull:999',
    ];
    const stream = await subscribe(topics);
    const found = [];
    for (const _ of topics) found.push(await eventOf(stream));
    const git = await app.repository();
    const pullVersion = `${head}.${await git.head('main')}.1`;
    expect(found.map(({ topic, id: of, version }) => [topic, of, version])).toEqual([
      ['branch', null, null],
      ['branch:spring/one', 'spring/one', head],
      [`pull:${number}`, String(number), pullVersion],
      [entry('2026/first'), '2026/first', await versionOfEntry('2026/first')],
      [entry('none'), 'none', null],
      [`deployment:${id}`, String(id), expect.stringMatching(/^[0-9a-f]{32}$/)],
      ['pull:999', '999', null],
    ]);
  });

  it('gives a branch that moves to the topics of it and of all, and not to others', async () => {
    await branch('a');
    const stream = await watching(['branch', 'branch:a', 'branch:main']);
    const sha = await commit({ 'a.txt': 'again' }, 'a');
    expect([await eventOf(stream), await eventOf(stream)]).toMatchObject([
      { topic: 'branch', id: 'a', version: sha },
      { topic: 'branch:a', id: 'a', version: sha },
    ]);
    const main = await commit({ 'b.txt': 'b' });
    expect([await eventOf(stream), await eventOf(stream)]).toMatchObject([
      { topic: 'branch', id: 'main', version: main },
      { topic: 'branch:main', id: 'main', version: main },
    ]);
    const git = await app.repository();
    await git.deleteBranch('a', sha);
    await app.services.studio.moves.settled();
    expect([await eventOf(stream), await eventOf(stream)]).toMatchObject([
      { topic: 'branch', id: 'a', version: null },
      { topic: 'branch:a', id: 'a', version: null },
    ]);
  });

  it('gives an entry when its own file changes, on its own branch, until it is deleted', async () => {
    await branch('draft/x%2Fy');
    const [one, two] = [entry('2026/first'), entry('2026/first', 'draft/x%2Fy')];
    const stream = await watching([one, two]);
    await commit({ 'content/posts/second.md': '---\ntitle: C\n---\n' });
    await commit({ 'content/posts/2026/first.md': '---\ntitle: Mine\n---\n' }, 'draft/x%2Fy');
    expect(await eventOf(stream)).toMatchObject({
      topic: two,
      version: await versionOfEntry('2026/first', 'draft/x%2Fy'),
    });
    await commit({ 'content/posts/2026/first.md': '---\ntitle: Theirs\n---\n' });
    expect(await eventOf(stream)).toMatchObject({ topic: one, version: await versionOfEntry('2026/first') });
    await commit({ 'content/posts/2026/first.md': null });
    expect(await eventOf(stream)).toMatchObject({ topic: one, id: '2026/first', version: null });
    await commit({ 'content/posts/2026/first.md': '---\ntitle: First\n---\n' });
    expect((await eventOf(stream)).version).not.toBeNull();
  });

  it('gives a pull request when it changes, and when a branch of it moves', async () => {
    await branch('p');
    const all = await watching(['pull']);
    const number = await pull('p');
    expect(await eventOf(all)).toMatchObject({ topic: 'pull', id: String(number) });
    const stream = await watching([`pull:${number}`]);
    const head = await commit({ 'p.txt': '2' }, 'p');
    expect((await eventOf(stream)).version).toMatch(new RegExp(`^${head}\\.[0-9a-f]{40}\\.1$`));
    const base = await commit({ 'q.txt': '2' });
    expect((await eventOf(stream)).version).toBe(`${head}.${base}.1`);
    await app.run(updatePull, { organization: 'acme', project: 'site', number, title: 'Other' });
    expect((await eventOf(stream)).version).toBe(`${head}.${base}.2`);
    const git = await app.repository();
    await git.deleteBranch('p', head);
    let { version } = await eventOf(stream);
    while (!version.endsWith('.3')) ({ version } = await eventOf(stream));
  });

  it('gives a deployment when it or a job of it changes, and not when a log grows', async () => {
    const { id, job } = await deploy();
    const stream = await watching([`deployment:${id}`]);
    const em = app.services.orm.em.fork();
    await em.execute('update deployment_job set log_size = log_size + 10 where id = ?', [job]);
    await em.execute(
      "update deployment_job set status = 'completed', conclusion = 'success', completed_at = now() where id = ?",
      [job],
    );
    const first = await eventOf(stream);
    expect(first).toMatchObject({ topic: `deployment:${id}`, id: String(id) });
    await em.execute(
      "update deployment set status = 'completed', conclusion = 'success', completed_at = now() where id = ?",
      [id],
    );
    const { version: now } = await eventOf(await subscribe([`deployment:${id}`]));
    expect(now).not.toBe(first.version);
    // What is announced late has the version of its own moment.
    let { version } = await eventOf(stream);
    while (version !== now) ({ version } = await eventOf(stream));
  });

  it('sends both deployments when another one is made live, and that which was live when none is', async () => {
    const [{ id: earlier }, { id: later }] = [await deploy(), await deploy()];
    const em = app.services.orm.em.fork();
    await em.execute(
      `update deployment set status = 'completed', conclusion = 'success', output_digest = ?, manifest_sha256 = ? where id in (?, ?)`,
      ['d'.repeat(64), 'd'.repeat(64), earlier, later],
    );
    await em.execute('update environment set published_deployment_id = ? where id = ?', [later, environment]);
    const versionOf = async (id: number) => (await eventOf(await subscribe([`deployment:${id}`]))).version;
    const stream = await watching(['deployment']);
    /** Makes another one live, and waits until the stream has named these with the versions that they have then. */
    const show = async (published_deployment_id: number | null, ids: readonly number[]) => {
      const before = await Promise.all(ids.map(versionOf));
      await app.run(updateEnvironment, { organization: 'acme', project: 'site', environment, published_deployment_id });
      const after = new Map<string, string>();
      for (const [at, id] of ids.entries()) {
        after.set(String(id), await versionOf(id));
        expect(after.get(String(id))).not.toBe(before[at]);
      }
      while (after.size > 0) {
        const { id, version } = await eventOf(stream);
        if (after.get(id) === version) after.delete(id);
      }
    };
    await show(earlier, [earlier, later]);
    await show(null, [earlier]);
  });

  it('goes on behind a position, without loss and without repeating, by the header and by the argument', async () => {
    await branch('r');
    const stream = await watching(['branch:r']);
    await commit({ 'r.txt': '1' }, 'r');
    const first = await stream.next();
    expect(first?.id).toBe(first?.data.data.watch.position);
    stream.close();
    const missed = await commit({ 'r.txt': '2' }, 'r');
    const headers = { 'Last-Event-ID': first?.id ?? '' };
    // The header is the newer one: a client that reconnects sends the same document again.
    const byHeader = await openStream(app.url, app.full, document(['branch:r'], { after: 'x.1' }), { headers });
    open.push(byHeader);
    const both = [byHeader, await subscribe(['branch:r'], { after: first?.id })];
    for (const again of both) expect((await eventOf(again)).version).toBe(missed);
    const sha = await commit({ 'r.txt': '3' }, 'r');
    for (const again of both) expect((await eventOf(again)).version).toBe(sha);
  });

  it('begins again when it was cut among its first events', async () => {
    const topics = ['branch:main', 'pull'];
    const first = await (await subscribe(topics)).next();
    const again = await subscribe(topics, { after: first?.id });
    expect([await eventOf(again), await eventOf(again)]).toMatchObject([{ topic: 'branch:main' }, { topic: 'pull' }]);
  });

  it.each(['x', 'unknown.3', 'unknown.'])('says that changes are not known behind %s, and goes on', async (after) => {
    const stream = await subscribe(['branch:main'], { after });
    expect(await nextOf(stream)).toEqual({ data: { watch: null }, extensions: { refetch: true } });
    const sha = await commit({ 'x.txt': String(Math.random()) });
    expect(await eventOf(stream)).toMatchObject({ version: sha });
  });

  it('says so too when the connection to the database was lost, and goes on', async () => {
    const stream = await watching(['branch:main']);
    await listener.close();
    await commit({ 'y.txt': 'unheard' });
    listener = listenTo(app);
    await listener.ready;
    expect(await nextOf(stream)).toEqual({ data: { watch: null }, extensions: { refetch: true } });
    const sha = await commit({ 'y.txt': 'received' });
    expect(await eventOf(stream)).toMatchObject({ version: sha });
  });

  it('costs no statement for an event and a subscriber', async () => {
    await commit({ 'z.txt': '0' });
    const costOf = async (subscribers: number) => {
      const streams = [];
      for (let at = 0; at < subscribers; at += 1) streams.push(await watching(['branch:main', entry('2026/first')]));
      app.reset();
      for (let at = 0; at < 3; at += 1) {
        await commit({ 'z.txt': String(Math.random()) });
        for (const stream of streams) await stream.next();
      }
      await app.services.studio.content.settled();
      const { length } = app.statements;
      for (const stream of streams) stream.close();
      return length;
    };
    await costOf(1);
    const [one, many] = [await costOf(1), await costOf(12)];
    // Three events went to each of eleven more; a few statements of the background are in both.
    expect(many - one).toBeLessThan(11);
  });
});

describe('a subscriber that is a thousand changes behind', () => {
  type Changes = Awaited<ReturnType<typeof readChanges.execute>>;
  const read = async (names: readonly string[], after?: string) =>
    (await app.run(readChanges, { organization: 'acme', project: 'site', topics: names, after })) as Changes;
  const move = (project: number, branches: readonly string[]) => {
    for (const branch of branches)
      app.services.studio.changes.notify(JSON.stringify({ kind: 'branch', project, branch }));
  };

  it('has each topic read once, however often its branch has moved', async () => {
    const names = [...Array.from({ length: 18 }, (_, at) => entry(`n${at}`)), entry('2026/first'), 'branch:main'];
    const { project_id, position } = await read(names);
    move(project_id, [...Array<string>(900).fill('main'), 'other']);
    const reads = vi.spyOn(RefFiles.prototype, 'read');
    const { events, missed } = await read(names, position);
    expect(reads.mock.calls.length).toBeLessThan(100);
    reads.mockRestore();
    expect(missed).toBe(false);
    expect(events.map(({ topic }) => topic)).toEqual(names);
    expect(events.at(18)).toMatchObject({ id: '2026/first', version: await versionOfEntry('2026/first') });
    const seqs = events.map((event) => Number(event.position.split('.')[1]) - Number(position.split('.')[1]));
    expect(seqs).toEqual([...Array<number>(19).fill(899), 900]);
  });

  it('gets the branches that have moved in the order of their last moves, read in steps', async () => {
    const { project_id, position } = await read(['branch']);
    const branches = Array.from({ length: 900 }, (_, at) => `b${at}`);
    move(project_id, [...branches, 'b7']);
    const [reads, yields] = [vi.spyOn(RefFiles.prototype, 'read'), vi.spyOn(Pace.prototype, 'yield')];
    let events: Changes['events'] = [];
    await iterationsDuring(async () => {
      ({ events } = await read(['branch'], position));
    });
    const [first = 0, ...others] = reads.mock.invocationCallOrder;
    const between = yields.mock.invocationCallOrder.filter((at) => at > first && at < (others.at(-1) ?? 0));
    vi.restoreAllMocks();
    expect(between.length).toBeGreaterThan(20);
    expect(events.map(({ id }) => id)).toEqual([...branches.filter((name) => name !== 'b7'), 'b7']);
  });
});

describe('a stream', () => {
  const signal = new AbortController().signal;
  const following = (
    read: (after: string | null) => Promise<News<number>>,
    watch = (_wake: () => void) => () => {},
  ) => {
    const stream = { after: null, signal, pollEvery: 60_000, position: null, refetch: false };
    return follow({ stream, renew: async () => {} } as unknown as GraphqlContext, { read, watch });
  };

  it('gives way between the events that a client is behind', async () => {
    const events = Array.from({ length: 900 }, (_, at) => ({ position: String(at), data: at }));
    const received: (number | null)[] = [];
    const all = async () => {
      for await (const event of following(async () => ({ events, ended: true }))) received.push(event);
    };
    expect(await iterationsDuring(all)).toBeGreaterThan(30);
    expect(received).toHaveLength(900);
  });

  it('reads on at once where there is more, but nothing ahead of its client', async () => {
    const reads: (string | null)[] = [];
    let watched = 0;
    const stream = following(
      async (after) => {
        reads.push(after);
        const at = Number(after ?? 0) + 1;
        return { events: [{ position: String(at), data: at }], more: at < 4, ended: at === 5 };
      },
      () => {
        watched += 1;
        return () => {};
      },
    );
    for (let at = 1; at <= 4; at += 1) {
      expect(await stream.next()).toEqual({ value: at, done: false });
      await new Promise(setImmediate);
      expect(reads).toEqual([null, '1', '2', '3'].slice(0, at));
    }
    // Only what is new from here on has to be waited for.
    expect(watched).toBe(0);
    expect(await stream.next()).toEqual({ value: 5, done: false });
    expect(watched).toBe(1);
  });

  it('gives way between others that the same change has woken', async () => {
    const wakes: (() => void)[] = [];
    let looks = 0;
    const streams = Array.from({ length: 300 }, () => {
      let own = 0;
      return following(
        async () => {
          looks += 1;
          own += 1;
          return own < 3 ? { events: [] } : { events: [{ position: '1', data: 1 }], ended: true };
        },
        (wake) => {
          wakes.push(wake);
          return () => {};
        },
      );
    });
    const next = streams.map((stream) => stream.next());
    await vi.waitUntil(() => looks === 2 * streams.length);
    const woken = async () => {
      for (const wake of wakes) wake();
      await Promise.all(next);
    };
    expect(await iterationsDuring(woken)).toBeGreaterThan(10);
    await Promise.all(streams.map((stream) => stream.return(null)));
  });
});

describe('the topics of a subscription', () => {
  const twenty = Array.from({ length: 20 }, (_, at) => `branch:b${at}`);

  it('are at most 20', async () => {
    expect(await eventOf(await subscribe(twenty))).toMatchObject({ topic: 'branch:b0', version: null });
    const refused = await subscribe([...twenty, 'pull']);
    expect(await errorsOf(refused)).toEqual([
      ['BAD_USER_INPUT', expect.stringContaining('topics: must be at most 20 topics')],
    ]);
    expect(await refused.next()).toEqual({ event: 'complete', data: '' });
    expect(await errorsOf(await subscribe([]))).toEqual([
      ['BAD_USER_INPUT', expect.stringContaining('topics: must name a topic')],
    ]);
  });

  it.each([
    'run:1',
    'execution:x',
    'notifications',
    'branches',
    '',
    'branch:',
    'pull:0',
    'pull:x',
    'deployment:1e3',
    'entry',
    'entry:main/posts',
    'entry:main/posts/%E0%A4%A',
  ])('are refused when one is %s', async (topic) => {
    const [[code, message] = []] = await errorsOf(await subscribe(['branch', topic]));
    expect(code).toBe('BAD_USER_INPUT');
    expect(message).toMatch(/^topics\.1: must be branch, /);
  });
});

describe('rights to watch', () => {
  it('are those of the project', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Other', machine_name: 'other' });
    const blind = await app.token('acme', ['edit_studio']);
    const elsewhere = await app.token('acme', ['browse_studio'], ['other']);
    for (const as of [blind, elsewhere])
      expect(await errorsOf(await subscribe(['branch'], {}, as))).toEqual([['FORBIDDEN', expect.anything()]]);
    expect(await errorsOf(await subscribe(['branch'], { project: 'nothing' }))).toEqual([
      ['NOT_FOUND', expect.anything()],
    ]);
    expect((await subscribe(['branch'], {}, null)).status).toBe(401);
  });

  it('do not show what happens in another project', async () => {
    const other = await watching(['branch', 'pull', 'deployment'], { project: 'other' });
    const own = await watching(['branch']);
    await commit({ 'v.txt': 'v' });
    await eventOf(own);
    const git = await app.repository('other');
    await git.write({
      branch: 'main',
      author: { name: 'Seed', email: 'seed@portico.test' },
      plan: async () => ({ changes: [{ path: 'o.txt', content: Buffer.from('o') }], message: 'Seed', result: null }),
    });
    await app.services.studio.moves.settled();
    expect(await eventOf(other)).toMatchObject({ topic: 'branch', id: 'main', version: await git.head('main') });
  });

  it.each([
    ['are taken away', `update token set permissions = '["edit_studio"]'`, 'FORBIDDEN'],
    ['end with their token', 'update token set revoked_at = now()', 'UNAUTHENTICATED'],
  ])('end a stream when they %s, before the next event', async (_how, sql, code) => {
    const reader = await app.token('acme', ['browse_studio']);
    const stream = await watching(['branch'], {}, reader);
    const em = app.services.orm.em.fork();
    await em.execute(`${sql} where hash = ?`, [hashToken(reader)]);
    await em.execute(
      "select pg_notify('portico_grants', 'organization:' || organization_id) from token where hash = ?",
      [hashToken(reader)],
    );
    await commit({ 'w.txt': code });
    expect(await errorsOf(stream)).toEqual([[code, expect.anything()]]);
    expect((await stream.next())?.event).toBe('complete');
  });
});

describe('a client of GraphQL over SSE (graphql-sse)', () => {
  it('watches under the cookie of a session, and is ended with it', async () => {
    const id = await makePerson(app, { email: 'ada@example.org', role: 'owner' });
    const { cookie } = await signedIn(app, id);
    const client = createClient({
      url: `${app.url}/graphql`,
      headers: { Cookie: cookie ?? '', 'Sec-Fetch-Site': 'same-origin' },
      retryAttempts: 0,
    });
    const events = client.iterate<{ watch: { topic: string; version: string | null } }>({
      query: document(['branch:main']),
    });
    const first = await events.next();
    expect(first.value).toMatchObject({ data: { watch: { topic: 'branch:main' } } });
    const sha = await commit({ 's.txt': 's' });
    expect((await events.next()).value).toMatchObject({ data: { watch: { version: sha } } });
    await app.services.orm.em.fork().nativeDelete(UserSession, { user_id: id });
    app.services.grants.evict(`user:${id}`);
    expect((await events.next()).value).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
    expect(await events.next()).toMatchObject({ done: true });
    client.dispose();
  });

  it('is refused from a page of another site', async () => {
    const { cookie } = await signedIn(app, await makePerson(app, { email: 'eve@example.org', role: 'owner' }));
    const client = createClient({
      url: `${app.url}/graphql`,
      headers: { Cookie: cookie ?? '', 'Sec-Fetch-Site': 'cross-site' },
      retryAttempts: 0,
    });
    await expect(client.iterate({ query: document(['branch']) }).next()).rejects.toThrow(/40[13]/);
    client.dispose();
  });
});
