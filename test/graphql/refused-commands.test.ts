import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { GraphqlContext } from '../../src/graphql/context.ts';
import { recordUnread } from '../../src/graphql/refused-commands.ts';
import { buildGraphqlSchema } from '../../src/graphql/schema.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const json = { 'Content-Type': 'application/json' };

/** The rows a request left, in order. */
const rowsOf = (request_id: string) =>
  app.services.orm.em
    .fork()
    .execute('select action, outcome, subject_id, changes, project_id from audit where request_id = ? order by id', [
      request_id,
    ]);

/** Sends a body and finds the rows it left. */
async function send(body: unknown, { headers = {}, path = '/graphql', method = 'POST', anonymous = false } = {}) {
  const id = randomUUID();
  const init = {
    method,
    token: anonymous ? undefined : app.full,
    headers: { ...json, 'X-Request-Id': id, ...headers },
  };
  const answer = await app.send(path, { ...init, ...(method === 'POST' && { body: JSON.stringify(body) }) });
  return { status: answer.status, body: answer.body, rows: await rowsOf(id) };
}

const branch = (name: string) => `createBranch(organization: "acme", project: "site", input: { name: "${name}" })`;
const failed = (action: string) => ({ action, outcome: 'failed' });
const createBranch = failed('studio.createBranch');

describe('a command that is refused before it runs leaves a row', () => {
  it.each([
    ['a variable of another type', { name: 5 }, { name: 5 }],
    ['a variable that is missing', undefined, {}],
    ['a variable with a field that is unknown', { name: 'a', nmae: 'b' }, { name: 'a' }],
  ])('for %s', async (_what, input, changes) => {
    const query = `mutation ($input: CreateBranchInput!) { createBranch(organization: "acme", project: "site", input: $input) { name } }`;
    const { status, rows } = await send({ query, variables: { input } });
    expect(status).toBe(400);
    expect(rows).toEqual([
      { ...createBranch, subject_id: input ? String(input.name) : null, changes, project_id: expect.any(Number) },
    ]);
  });

  it.each([
    [
      'a literal of another type',
      `mutation { createBranch(organization: "acme", project: "site", input: 5) { name } }`,
    ],
    ['an argument that is missing', `mutation { createBranch(organization: "acme") { name } }`],
    ['a field of the answer that is unknown', `mutation { ${branch('b')} { nothing } }`],
    ['a limit that is passed', `mutation { ${branch('b')} { ${'name @include(if: true) '.repeat(26)} } }`],
    [
      'one of a fragment',
      `mutation { ...A } fragment A on Mutation { ... on Mutation { ${branch('b')} { nothing } } }`,
    ],
  ])('for %s', async (_what, query) => {
    const { status, rows } = await send({ query });
    expect(status).toBe(400);
    expect(rows).toMatchObject([createBranch]);
  });

  it('for each command of a document, ten at most', async () => {
    const two = await send({
      query: `mutation { a: ${branch('a')} { name } b: deleteProject(organization: "acme", project: 1) { project { id } } }`,
    });
    expect(two.rows).toMatchObject([createBranch, failed('projects.deleteProject')]);
    const names = Array.from({ length: 12 }, (_, at) => `b${at}`);
    const many = await send({ query: `mutation { ${names.map((name) => `${name}: ${branch(name)} { name }`)} }` });
    expect(many.status).toBe(400);
    expect(many.rows.map(({ subject_id }) => subject_id)).toEqual(names.slice(0, 10));
  });

  it('for the operation that is chosen, and for no other', async () => {
    const query = `mutation A { ${branch('a')} { nothing } } mutation B { deleteProject(organization: "acme", project: "site") { project { id } } } query C { me { id } }`;
    expect((await send({ query, operationName: 'A' })).rows).toMatchObject([createBranch]);
    expect((await send({ query, operationName: 'B' })).rows).toMatchObject([failed('projects.deleteProject')]);
    expect((await send({ query, operationName: 'C' })).rows).toEqual([]);
  });

  it('for an argument that the executor refuses, while the others run', async () => {
    const query = `mutation ($name: CreateBranchInput = { name: "x" }) {
      a: createBranch(organization: "acme", project: "site", input: $name) { name }
      b: updateOrganization(organization: "acme", input: { region: "one" }) { name }
    }`;
    const { status, body, rows } = await send({ query, variables: { name: null } });
    expect(status).toBe(200);
    expect(body.data).toEqual({ a: null, b: { name: 'Acme' } });
    expect(rows).toMatchObject([{ action: 'organizations.updateOrganization', outcome: 'ok' }, createBranch]);
  });

  it('when the request is malformed around it', async () => {
    const query = `mutation { ${branch('a')} { name } }`;
    for (const variables of ['text', [1], 5]) {
      const { status, rows } = await send({ query, variables });
      expect(status).toBe(400);
      expect(rows).toMatchObject([createBranch]);
    }
    expect((await send([{ query }, { query }])).rows).toMatchObject([createBranch, createBranch]);
    const path = `/graphql?query=${encodeURIComponent(query)}`;
    const get = await send(null, { method: 'GET', path, headers: { 'Apollo-Require-Preflight': 'true' } });
    expect(get).toMatchObject({ status: 405, rows: [createBranch] });
  });

  it('when it is sent as if it were a subscription', async () => {
    const body = JSON.stringify({ query: `mutation { ${branch('a')} { name } }` });
    const headers = { ...json, Authorization: `Bearer ${app.full}`, 'X-Request-Id': randomUUID() };
    const init = { method: 'POST', headers: { ...headers, Accept: 'text/event-stream' }, body };
    expect(await (await fetch(`${app.url}/graphql`, init)).text()).toContain('Only subscriptions are streamed');
    expect(await rowsOf(headers['X-Request-Id'])).toMatchObject([createBranch]);
  });

  it('by what chooses between two operations', async () => {
    const query = `mutation ($input: SetWorkflowEnabledInput!) { setWorkflowEnabled(organization: "acme", project: "site", input: $input) { id } }`;
    const action = async (enabled: unknown) =>
      (await send({ query, variables: { input: { enabled, workflow: 1 } } })).rows[0]?.action;
    expect(await action(true)).toBe('workflows.enableWorkflow');
    expect(await action(false)).toBe('workflows.disableWorkflow');
    expect(await action('no')).toBe('workflows.disableWorkflow');
  });
});

describe('no row is left', () => {
  it.each([
    ['by a document that cannot be parsed', `mutation { ${branch('a')} { name }`],
    ['by a query', '{ nothing }'],
    ['by a command that is unknown', 'mutation { createNothing }'],
    ['by fragments that contain one another', 'mutation { ...A } fragment A on Mutation { ...A }'],
  ])('%s', async (_what, query) => {
    expect(await send({ query })).toMatchObject({ status: 400, rows: [] });
  });

  it('by a caller without a credential', async () => {
    const { status, rows } = await send({ query: `mutation { ${branch('a')} { nothing } }` }, { anonymous: true });
    expect(status).toBe(400);
    expect(rows).toEqual([]);
  });
});

it('a command that ran leaves its own row alone, whatever becomes of the answer', async () => {
  const query = `mutation { a: updateOrganization(organization: "acme", input: { region: "two" }) { name } b: ${branch('no such base')} { name } }`;
  const { rows } = await send({ query });
  expect(rows).toMatchObject([{ action: 'organizations.updateOrganization', outcome: 'ok' }, createBranch]);
  const unwanted = await send({ query }, { headers: { Accept: 'text/html' } });
  expect(unwanted.status).toBe(406);
  expect(unwanted.rows).toHaveLength(2);
});

it('records a refused command without listing the names of its input', async () => {
  const input = new Proxy({ name: 'a', unknown: 1 }, { ownKeys: () => expect.unreachable('the names were listed') });
  const refused: unknown[] = [];
  const context = { refuse: async (_command: unknown, known: unknown) => void refused.push(known) };
  const query = `mutation ($input: CreateBranchInput!) { createBranch(organization: "acme", project: "site", input: $input) { name } }`;
  await recordUnread(buildGraphqlSchema(), context as unknown as GraphqlContext, { query, variables: { input } });
  expect(refused).toEqual([{ organization: 'acme', project: 'site', name: 'a' }]);
});
