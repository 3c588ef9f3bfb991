import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { codeOf } from '../../src/graphql/errors.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { errorCodes } from '../../src/kernel/errors.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
});
beforeEach(() => app.reset());

describe('errors', () => {
  it('every refusal of the domain has a word of the closed list', () => {
    expect(Object.keys(codeOf).sort()).toEqual([...errorCodes].sort());
  });

  it.each([
    ['GRAPHQL_PARSE_FAILED', '{ me {'],
    ['GRAPHQL_VALIDATION_FAILED', '{ nothing }'],
    ['GRAPHQL_VALIDATION_FAILED', 'query A { me { id } } query B { me { id } }'],
  ])('of the document: %s', async (code, document) => {
    const { status, body } = await app.query(document);
    expect(status).toBe(400);
    expect(body.data).toBeUndefined();
    expect(body.errors[0].extensions).toEqual({ code, reason: 'invalid_request', request_id: 'test-request' });
  });

  it('of a variable name it', async () => {
    const { status, body } = await app.query('query ($first: Int) { organizations(first: $first) { total_count } }', {
      variables: { first: 'many' },
    });
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({
      message: expect.stringContaining('$first'),
      extensions: { code: 'BAD_USER_INPUT' },
    });
  });

  it('of our own say nothing but a request id; the cause is in the log', async () => {
    const { em } = app.services.orm;
    const fork = em.fork;
    em.fork = () => {
      throw new Error('relation "secret_table" does not exist at /srv/app.ts');
    };
    const { status, body } = await app.query('{ me { id } }', { token: null });
    em.fork = fork;
    expect(status).toBe(200);
    expect(body.data).toEqual({ me: null });
    expect(body.errors[0]).toEqual({
      message: 'Something went wrong',
      path: ['me'],
      locations: [{ line: 1, column: 3 }],
      extensions: { code: 'INTERNAL', reason: 'internal', request_id: 'test-request' },
    });
    expect(JSON.stringify(body)).not.toMatch(/secret_table|stack|\.ts/);
    const line = app.log.map((text) => JSON.parse(text)).find(({ level }) => level === 'error');
    expect(line).toMatchObject({
      err: { message: expect.stringContaining('secret_table') },
      request_id: 'test-request',
    });
  });

  it('carry the id the request was given', async () => {
    const { body } = await app.query('{ nothing }', { headers: { 'X-Request-Id': 'abc-1' } });
    expect(body.errors[0].extensions.request_id).toBe('abc-1');
  });
});

describe('refusals', () => {
  const cases = [
    ['organizations', 'query', 'organization(organization: "acme") { name }', 'GET', '/api/v2/organizations/acme'],
    [
      'tokens',
      'query',
      'organization(organization: "acme") { tokens { total_count } }',
      'GET',
      '/api/v2/organizations/acme/tokens',
    ],
    [
      'audit',
      'query',
      'organization(organization: "acme") { audit { total_count } }',
      'GET',
      '/api/v2/organizations/acme/audit',
    ],
    [
      'projects',
      'query',
      'organization(organization: "acme") { projects { total_count } }',
      'GET',
      '/api/v2/organizations/acme/projects',
    ],
    [
      'project',
      'query',
      'project(organization: "acme", project: "site") { name }',
      'GET',
      '/api/v2/organizations/acme/projects/site',
    ],
    [
      'create project',
      'mutation',
      'createProject(organization: "acme", input: { name: "X" }) { name }',
      'POST',
      '/api/v2/organizations/acme/projects',
    ],
    ['foreign', 'query', 'organization(organization: "other") { name }', 'GET', '/api/v2/organizations/other'],
    ['unknown', 'query', 'organization(organization: "none") { name }', 'GET', '/api/v2/organizations/none'],
    ['impossible', 'query', 'organization(organization: "No!") { name }', 'GET', '/api/v2/organizations/No!'],
    [
      'unknown project',
      'query',
      'project(organization: "acme", project: "none") { name }',
      'GET',
      '/api/v2/organizations/acme/projects/none',
    ],
  ] as const;

  it.each(cases)('say what REST says: %s', async (_name, kind, field, method, path) => {
    const weak = await app.token('acme', ['browse_crawlers']);
    for (const credential of [weak, null]) {
      const { body } = await app.query(`${kind} { ${field} }`, { token: credential });
      const rest = await app.send(path, {
        method,
        headers: { 'Content-Type': 'application/json' },
        ...(method === 'POST' && { body: '{"name":"X"}' }),
        ...(credential && { token: credential }),
      });
      const { message, code: reason, details } = rest.body;
      expect(body.errors).toMatchObject([{ message, extensions: { reason, ...(details && { details }) } }]);
    }
  });

  it('name the one permission that is missing, whichever it is', async () => {
    for (const permission of permissionNames) {
      const one = await app.token('acme', [permission]);
      const { body } = await app.query('{ organization(organization: "acme") { tokens { total_count } } }', {
        token: one,
      });
      if (permission === 'manage_organization') expect(body.errors).toBeUndefined();
      else expect(body.errors[0].message).toBe('Missing permission: manage_organization');
    }
  });
});

describe('free values', () => {
  const document = `mutation ($value: JSON) { createEntry(organization: "acme", project: "site", input: { collection: "a", slug: "b", frontmatter: $value }) { slug } }`;
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

  it('are refused with a body that is nested more than 100 levels deep', async () => {
    // The request and its variables are two levels themselves.
    const { body } = await app.query(document, { variables: { value: nested(99) } });
    expect(body).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('nested more than 100 levels deep'),
    });
    const { body: accepted } = await app.query(document, { variables: { value: nested(98) } });
    expect(accepted.errors?.[0].message ?? '').not.toContain('nested more than 100');
  });

  it('are refused as literals that are nested more than 100 levels deep', async () => {
    const literal = (depth: number) => `${'{a:'.repeat(depth)}1${'}'.repeat(depth)}`;
    const written = (depth: number) => document.replace('($value: JSON)', '').replace('$value', literal(depth));
    const { body } = await app.query(written(101));
    expect(body.errors[0].message).toMatch(/nested (at most|more than) 100 levels/);
  });
});
