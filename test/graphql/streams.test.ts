import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../src/domain/identity/token-text.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { branchSubject } from '../../src/domain/studio/repository/branch-moves.operations.ts';
import { shared } from '../support/app.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(() => graphqlApp({ streams: { heartbeat: 50, patience: 300, poll: 25 } }));
const open: EventStream[] = [];

beforeAll(async () => {
  await commit({ 'README.md': 'first\n' });
});
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});

const place = 'organization: "acme", project: "site"';
const moves = (more = '') => `subscription { branchMoved(${place}${more}) { branch sha paths } }`;

async function commit(files: Record<string, string>, branch = 'main'): Promise<string> {
  const git = await app.repository();
  const { commit: made } = await git.write({
    branch,
    author: { name: 'Seed', email: 'seed@portico.test' },
    plan: async () => ({
      changes: Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) })),
      message: 'Seed',
      result: null,
    }),
  });
  await app.services.studio.moves.settled();
  return made?.sha ?? '';
}

async function subscribe(query: string, options: Parameters<typeof openStream>[3] = {}, as: string | null = app.full) {
  const stream = await openStream(app.url, as, query, options);
  open.push(stream);
  return stream;
}

/** A stream of a branch from where it is now. */
async function fromNow(branch = 'main'): Promise<EventStream> {
  const em = app.services.orm.em.fork();
  const [project] = await em.execute<{ id: number }[]>("select id from project where machine_name = 'site'");
  const { position } = await app.services.events.read(em, branchSubject(project?.id ?? 0, branch), null);
  return subscribe(moves(`, branch: "${branch}", after: "${position}"`));
}

describe('a stream', () => {
  it('reports where a branch moves and what changed', async () => {
    const stream = await fromNow();
    expect(stream.status).toBe(200);
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers.get('cache-control')).toBe('private, no-store, no-transform');
    const one = await commit({ 'a.md': 'one\n', 'b.md': 'one\n' });
    expect(await stream.next()).toEqual({
      id: expect.stringMatching(/^\d+$/),
      event: 'next',
      data: { data: { branchMoved: { branch: 'main', sha: one, paths: ['a.md', 'b.md'] } } },
    });
    const two = await commit({ 'a.md': 'two\n' });
    expect((await stream.next())?.data).toEqual({
      data: { branchMoved: { branch: 'main', sha: two, paths: ['a.md'] } },
    });
  });

  it('goes on where it was, without loss and without repeating', async () => {
    const stream = await fromNow();
    await commit({ 'c.md': '1' });
    const first = await stream.next();
    stream.close();
    const missed = [await commit({ 'c.md': '2' }), await commit({ 'c.md': '3' })];
    for (const again of [
      await subscribe(moves(), { headers: { 'Last-Event-ID': first?.id ?? '' } }),
      await subscribe(moves(`, after: "${first?.id}"`)),
      // The header is the newer one: a client that reconnects sends the same document again.
      await subscribe(moves(', after: "1"'), { headers: { 'Last-Event-ID': first?.id ?? '' } }),
    ]) {
      const found = [await again.next(), await again.next()];
      expect(found.map((event) => event?.data.data.branchMoved.sha)).toEqual(missed);
      expect(found.map((event) => Number(event?.id))).toEqual([Number(first?.id) + 1, Number(first?.id) + 2]);
    }
  });

  it('says when events are lost, and goes on', async () => {
    const stream = await subscribe(moves(', after: "999999"'));
    expect((await stream.next())?.data).toEqual({ data: { branchMoved: null }, extensions: { refetch: true } });
    const sha = await commit({ 'd.md': '1' });
    expect((await stream.next())?.data).toMatchObject({ data: { branchMoved: { sha } } });
    await app.services.orm.em.fork().execute('delete from event');
    await commit({ 'd.md': '2' });
    const late = await subscribe(moves(', after: "1"'));
    expect((await late.next())?.data.extensions).toEqual({ refetch: true });
  });

  it('reports that a branch was deleted', async () => {
    const git = await app.repository();
    const head = (await git.head('main')) ?? '';
    await git.createBranch('gone', head);
    await app.services.studio.moves.settled();
    const stream = await fromNow('gone');
    await git.deleteBranch('gone', head);
    expect((await stream.next())?.data.data.branchMoved).toEqual({ branch: 'gone', sha: null, paths: null });
  });

  it('is kept open by comments', async () => {
    const stream = await subscribe(moves());
    expect([await stream.comment(), await stream.comment()]).toEqual([':', ':']);
  });

  it('reports the progress of an import, and ends with it', async () => {
    const state = { url: 'https://x.test/r.git', phase: null, received_objects: 1, total_objects: 2, message: null };
    const row = { ...state, started_at: null, finished_at: null };
    const set = (to: string) =>
      app.services.orm.em
        .fork()
        .execute('update project set import = ? where machine_name = ?', [
          JSON.stringify({ ...row, state: to }),
          'site',
        ]);
    await set('running');
    const stream = await subscribe(`subscription { importProgress(${place}) { state received_objects } }`);
    const first = await stream.next();
    expect(first?.data.data.importProgress).toEqual({ state: 'running', received_objects: 1 });
    const again = await subscribe(`subscription { importProgress(${place}) { state } }`, {
      headers: { 'Last-Event-ID': first?.id ?? '' },
    });
    await set('completed');
    for (const each of [stream, again]) {
      expect((await each.next())?.data.data.importProgress.state).toBe('completed');
      expect(await each.next()).toEqual({ event: 'complete', data: '' });
      expect(await each.next()).toBeNull();
    }
  });
});

describe('rights', () => {
  it('are needed to begin', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Other', machine_name: 'other' });
    const blind = await app.token('acme', ['edit_studio']);
    const elsewhere = await app.token('acme', ['browse_studio'], ['other']);
    for (const as of [blind, elsewhere]) {
      const stream = await subscribe(moves(), {}, as);
      expect((await stream.next())?.data.errors).toMatchObject([
        { extensions: { code: 'FORBIDDEN', reason: 'forbidden' } },
      ]);
      expect((await stream.next())?.event).toBe('complete');
    }
    for (const as of [null, `${app.full.slice(0, -1)}_`]) {
      const refused = await subscribe(moves(), {}, as);
      expect(refused.status).toBe(401);
      expect(JSON.parse(await refused.text())).toMatchObject({ code: 'unauthenticated' });
    }
  });

  it.each([
    ['are taken away', `update token set permissions = '["edit_studio"]'`, 'FORBIDDEN'],
    ['end with their token', 'update token set revoked_at = now()', 'UNAUTHENTICATED'],
  ])('end a stream when they %s', async (_how, sql, code) => {
    const reader = await app.token('acme', ['browse_studio']);
    const stream = await subscribe(moves(), {}, reader);
    await stream.comment();
    await app.services.orm.em.fork().execute(`${sql} where hash = ?`, [hashToken(reader)]);
    expect((await stream.next())?.data.errors).toMatchObject([{ extensions: { code } }]);
    expect((await stream.next())?.event).toBe('complete');
    expect(await stream.next()).toBeNull();
  });
});

describe('a request for a stream', () => {
  const refusals: [string, string, string, string][] = [
    ['that is no GraphQL', 'subscription {', 'GRAPHQL_PARSE_FAILED', 'Syntax Error'],
    ['of an unknown field', 'subscription { nothing }', 'GRAPHQL_VALIDATION_FAILED', 'Cannot query field'],
    [
      'with two fields',
      `subscription { a: branchMoved(${place}) { sha } b: branchMoved(${place}) { sha } }`,
      'GRAPHQL_VALIDATION_FAILED',
      'must select only one',
    ],
    ['for a query', '{ organizations { nodes { name } } }', 'BAD_USER_INPUT', 'Only subscriptions'],
    ['of an unknown branch', moves(', branch: "nowhere"'), 'NOT_FOUND', 'branch: nowhere'],
    ['from a position that is none', moves(', after: "x"'), 'BAD_USER_INPUT', 'after'],
    [
      'that is too deep',
      `subscription { branchMoved(${place}) ${'{ a '.repeat(13)}${'}'.repeat(14)}`,
      'LIMIT_EXCEEDED',
      '12',
    ],
    [
      'with too many tokens',
      `subscription { branchMoved(${place}) { ${'sha '.repeat(2100)} } }`,
      'LIMIT_EXCEEDED',
      '2000',
    ],
    [
      'with too many aliases',
      `subscription { branchMoved(${place}) { ${Array.from({ length: 31 }, (_, at) => `a${at}: sha`).join(' ')} } }`,
      'LIMIT_EXCEEDED',
      '30',
    ],
  ];
  it.each(refusals)('%s gets the error as its only event', async (_what, query, code, message) => {
    const stream = await subscribe(query);
    expect(stream.status).toBe(200);
    const { data } = (await stream.next()) ?? {};
    expect(data.errors.map((error: { extensions: object }) => error.extensions)).toContainEqual(
      expect.objectContaining({ code }),
    );
    expect(JSON.stringify(data.errors)).toContain(message);
    expect(await stream.next()).toEqual({ event: 'complete', data: '' });
  });

  it.each([
    ['of another type', 1, 'String cannot represent a non string value: 1'],
    ['missing', undefined, 'Variable "$project" of required type "String!" was not provided.'],
  ])('with a variable %s says so', async (_what, project, message) => {
    const query = 'subscription ($project: String!) { branchMoved(organization: "acme", project: $project) { sha } }';
    const stream = await subscribe(query, { body: JSON.stringify({ query, variables: { project } }) });
    expect((await stream.next())?.data.errors).toMatchObject([
      { message: expect.stringContaining(message), extensions: { code: 'BAD_USER_INPUT', reason: 'invalid_request' } },
    ]);
    expect(await stream.next()).toEqual({ event: 'complete', data: '' });
  });

  it('that is not JSON, or not one request, is refused', async () => {
    const form = await subscribe(moves(), { headers: { 'Content-Type': 'text/plain' } });
    expect(form.status).toBe(415);
    const broken = await subscribe('', { body: '{' });
    expect(broken.status).toBe(400);
    const batch = await subscribe('', { body: JSON.stringify([{ query: moves() }]) });
    expect((await batch.next())?.data.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  });

  it('needs to request one', async () => {
    const { status, body } = await app.query(moves());
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { errors: [{ message: expect.stringContaining('Accept: text/event-stream') }] },
    });
  });

  it('is one of at most 20 of a credential', async () => {
    const busy = await app.token('acme');
    for (let count = 0; count < 20; count++) expect((await subscribe(moves(), {}, busy)).status).toBe(200);
    const refused = await subscribe(moves(), {}, busy);
    expect(refused.status).toBe(429);
    expect(JSON.parse(await refused.text())).toMatchObject({ code: 'rate_limited' });
    expect((await subscribe(moves())).status).toBe(200);
    for (const stream of open.splice(0)) stream.close();
    await expect.poll(async () => (await subscribe(moves(), {}, busy)).status).toBe(200);
  });
});
