import { getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { checkDocument } from '../../src/graphql/limits/document.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const times = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');

async function passes(document: string) {
  const { status, body } = await app.query(document);
  expect(body.errors ?? []).toEqual([]);
  expect(status).toBe(200);
}

async function isRefused(document: string, limit: string, maximum: number, actual?: number) {
  const { status, body } = await app.query(document);
  expect(status).toBe(400);
  expect(body.data).toBeUndefined();
  expect(body.errors[0].extensions).toMatchObject({
    code: 'LIMIT_EXCEEDED',
    reason: 'invalid_request',
    details: { limit, maximum, ...(actual !== undefined && { actual }) },
    request_id: 'test-request',
  });
  expect(app.operations).toEqual([]);
}

describe('the schema', () => {
  it('can be read whole in one request, by the query that tools send', async () => {
    const all = { schemaDescription: true, directiveIsRepeatable: true, specifiedByUrl: true, oneOf: true };
    await passes(getIntrospectionQuery({ ...all, inputValueDeprecation: true }));
    await passes('{ __type(name: "Query") { name fields { name args { name type { name ofType { name } } } } } }');
  });

  const types = 'types { ...T fields { type { ...T } } } }';
  const fragment = 'fragment T on __Type { name fields { name args { name type { name } } type { name } } }';
  it.each([
    [
      'many times',
      `{ ${times(20, (i) => `a${i}: __schema { types { fields { name description type { name ofType { name } } } } }`)} }`,
    ],
    [
      'many times within itself',
      `{ __schema { ${times(25, (i) => `a${i}: types { fields { name description type { name } } }`)} } }`,
    ],
    ['by fields of fields', `{ ${times(8, (i) => `a${i}: __schema { ${types}`)} } ${fragment}`],
  ])('is not read %s', async (_how, document) => {
    app.reset();
    await isRefused(document, 'schema', 200_000);
  });
});

describe('limits of a document', () => {
  it('2,000 tokens', async () => {
    // Two braces, and five tokens around the names of each `me`.
    const document = (names: number) =>
      `{ ${times(10, (i) => `a${i}: me { ${'id '.repeat(190)} }`)} ...F } fragment F on Query { me { ${'id '.repeat(names)} } }`;
    const others = 2 + 10 * (5 + 190) + 2 + 6 + 3;
    expect(others).toBeLessThan(2000);
    await passes(document(2000 - others));
    app.reset();
    await isRefused(document(2001 - others), 'tokens', 2000);
  });

  it('1 MiB of characters', async () => {
    const head = '{ me { id } } #';
    await passes(head + 'x'.repeat(1_048_576 - head.length));
    app.reset();
    await isRefused(head + 'x'.repeat(1_048_577 - head.length), 'characters', 1_048_576);
  });

  it('10,000 lines, those of comments included', async () => {
    await passes(`{ me { id } }${'\n'.repeat(9_999)}`);
    app.reset();
    await isRefused(`{ me { id } } #${'\n#'.repeat(10_000)}`, 'lines', 10_000, 10_001);
  });

  it.each(['[', '{a:', '[{a:', '(', '{'])('120 levels of brackets: %s many times', async (open) => {
    for (const times of [1_250, 200_000]) {
      const { status, body } = await app.query(`{ me(x: ${open.repeat(times)}`);
      expect(status).toBe(400);
      expect(body.errors).toMatchObject([
        {
          message: expect.stringMatching(/^The document has \d+ levels of brackets; at most 120 are allowed$/),
          extensions: { code: 'LIMIT_EXCEEDED', reason: 'invalid_request', details: { limit: 'nesting' } },
        },
      ]);
    }
  });

  it('120 levels of brackets where they count: not in texts and comments', async () => {
    const lists = (levels: number) => `{ me(x: ${'['.repeat(levels)}${']'.repeat(levels)}) { id } }`;
    expect((await app.query(lists(118))).body.errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    app.reset();
    await isRefused(lists(119), 'nesting', 120, 121);
    await passes(`{ me { id } } # ${'['.repeat(500)}`);
    const many = '['.repeat(500);
    for (const text of [`"${many}\\"${many}"`, `"""${many}\\"""${many}"""`]) {
      const { body } = await app.query(`{ me(x: ${text}) { id } }`);
      expect(body.errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    }
  });

  it('the same in an address, and for a stream', async () => {
    const query = `{ me(x: ${'['.repeat(2_500)}`;
    const refused = { status: 400, body: { errors: [{ extensions: { code: 'LIMIT_EXCEEDED' } }] } };
    const headers = { 'Apollo-Require-Preflight': 'true' };
    expect(await app.send(`/graphql?query=${encodeURIComponent(query)}`, { token: app.full, headers })).toMatchObject(
      refused,
    );
    expect(await app.query(query, { headers: { Accept: 'text/event-stream' } })).toMatchObject(refused);
  });

  it('names the bound on fields of the same name, and what to do', async () => {
    const { status, body } = await app.query(`{ me { ${'id '.repeat(1_900)} } }`);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([
      {
        message:
          'The document has more than 500000 comparisons of fields of the same name; select each field once, or under another alias',
        extensions: { code: 'LIMIT_EXCEEDED', details: { limit: 'comparisons', maximum: 500_000 } },
      },
    ]);
  });

  it('names at most 25 faults', async () => {
    const { body } = await app.query(`{ ${times(19, (i) => `me { a${i} b${i} c${i} }`)} }`);
    expect(body.errors).toHaveLength(26);
    expect(body.errors[25].message).toContain('Too many validation errors');
  });

  it('30 aliases, in fragments too', async () => {
    await passes(`{ me { ${times(30, (i) => `a${i}: id`)} } }`);
    app.reset();
    await isRefused(`{ me { ${times(30, (i) => `a${i}: id`)} ...F } } fragment F on Me { b: id }`, 'aliases', 30, 31);
  });

  it('25 directives', async () => {
    await passes(`{ me { ${times(25, (i) => `a${i}: id @include(if: true)`)} } }`);
    app.reset();
    await isRefused(`{ me { ${times(26, (i) => `a${i}: id @include(if: true)`)} } }`, 'directives', 25, 26);
  });

  it('20 root fields, in fragments too', async () => {
    await passes(`{ ${'me { id } '.repeat(19)} ...F } fragment F on Query { me { id } }`);
    app.reset();
    await isRefused(
      `{ ${'me { id } '.repeat(19)} ...F } fragment F on Query { me { id } me { id } }`,
      'root_fields',
      20,
      21,
    );
  });

  it('10 commands, run in order', async () => {
    const commands = (count: number) =>
      `mutation { ${times(count, (i) => `m${i}: updateProject(organization: "acme", project: "site", input: { name: "N${i}" }) { name }`)} }`;
    const { body } = await app.query(commands(10));
    expect(body.errors).toBeUndefined();
    const { body: audit } = await app.query(
      '{ organization(organization: "acme") { audit(action: "projects.updateProject", first: 10) { nodes { changes } } } }',
    );
    const names = audit.data.organization.audit.nodes.map(({ changes }: { changes: { name: string } }) => changes.name);
    expect(names).toEqual(Array.from({ length: 10 }, (_, i) => `N${9 - i}`));
    app.reset();
    await isRefused(commands(11), 'commands', 10, 11);
  });

  it('12 levels, fragments in place', () => {
    const nested = (levels: number): string => (levels === 1 ? 'a' : `a { ${nested(levels - 1)} }`);
    expect(() => checkDocument(parse(`{ ${nested(12)} }`))).not.toThrow();
    expect(() => checkDocument(parse(`{ ${nested(13)} }`))).toThrow(/13 levels of fields; at most 12/);
    const spread = (levels: number) => `{ a { ...F } } fragment F on A { ... on B { ${nested(levels)} } }`;
    expect(() => checkDocument(parse(spread(11)))).not.toThrow();
    expect(() => checkDocument(parse(spread(12)))).toThrow(/13 levels/);
  });

  it('counts every operation of a document, not only the one that is chosen', () => {
    const nested = (levels: number): string => (levels === 1 ? 'a' : `a { ${nested(levels - 1)} }`);
    expect(() => checkDocument(parse(`query A { a } query B { ${nested(13)} }`))).toThrow(/13 levels/);
  });

  it('fragments of fragments are counted without walking every path', () => {
    const bomb = times(190, (i) => `fragment F${i} on A { ...F${i + 1} ...F${i + 1} }`);
    const document = parse(`{ ...F0 } ${bomb} fragment F190 on A { a }`, { maxTokens: 2000 });
    expect(() => checkDocument(document)).toThrow(/root fields/);
    expect(() => checkDocument(parse('{ a { ...F } } fragment F on A { a { ...F } }'))).not.toThrow();
  });
});

describe('cost', () => {
  const page = (fields: string) => `projects(first: 100) { nodes { ${fields} } }`;
  const eight = 'id uuid name machine_name region created_at updated_at deleted_at';
  // organization 1, six pages of 1 + 1 + 100 × 8, one of 1 + 1 + 100, and names of 1 each.
  const document = (names: number) =>
    `{ organization(organization: "acme") { ${times(6, (i) => `p${i}: ${page(eight)}`)} ${page('name')} ${'name '.repeat(names)} } }`;

  it('5,000: one per field, the fields of a page once for each item', async () => {
    await passes(document(85));
    app.reset();
    await isRefused(document(86), 'cost', 5000, 5001);
  });

  it('reads the page size from variables, and counts the default without one', async () => {
    const sized = (variables: object, otherwise = '') =>
      app.query(
        `query ($first: Int${otherwise}) { organization(organization: "acme") { ${times(9, (i) => `p${i}: projects(first: $first) { edges { node { ${eight} } } }`)} } }`,
        { variables },
      );
    expect((await sized({ first: 100 })).body.errors[0].extensions).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      details: { actual: 1 + 9 * (1 + 1 + 100 * 9) },
    });
    expect((await sized({}, ' = 100')).body.errors[0].extensions.details.actual).toBe(1 + 9 * (1 + 1 + 100 * 9));
    expect((await sized({ first: 30 }, ' = 100')).body.errors).toBeUndefined();
    expect((await sized({ first: null }, ' = 100')).body.errors).toBeUndefined();
    expect((await sized({})).body.errors).toBeUndefined();
    expect((await sized({ first: 30 })).body.errors).toBeUndefined();
  });

  it('counts fragments where they are spread', async () => {
    const { body } = await app.query(
      `{ organization(organization: "acme") { ${times(7, (i) => `p${i}: projects(first: 100) { ...C }`)} } }
       fragment C on ProjectConnection { nodes { ...P } } fragment P on Project { ${eight} }`,
    );
    expect(body.errors[0].extensions.details.actual).toBe(1 + 7 * (2 + 800));
  });

  it('counts a command as 50', async () => {
    const audit = 'audit(first: 100) { nodes { id at actor action outcome } }';
    const document = (extra: string) =>
      `mutation { ${times(9, (i) => `m${i}: updateOrganization(organization: "acme", input: {}) { ${audit} ${extra} }`)} }`;
    // 9 × (50 + 2 + 500) = 4,968
    await passes(document('name name name'));
    app.reset();
    await isRefused(document('name name name name'), 'cost', 5000, 9 * 556);
  });
});

describe('cost of a document that multiplies', () => {
  it('is known without walking it', async () => {
    const bomb = times(150, (i) => `fragment F${i} on Project { ...F${i + 1} ...F${i + 1} }`);
    const { body } = await app.query(
      `{ project(organization: "acme", project: "site") { ...F0 } } ${bomb} fragment F150 on Project { name }`,
    );
    expect(body.errors[0].message).toBe('The document has more than 5000 points of cost');
  });
});

describe('variables', () => {
  const mutation =
    'mutation ($input: CreateBranchInput!) { createBranch(organization: "acme", project: "site", input: $input) { name } }';
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, 0]));

  it.each([
    ['many unknown names', { name: 'a', ...many }, '; Field "k0" is not defined by type "CreateBranchInput".'],
    ['a value of another type', { name: 5 }, ' at "input.name"; String cannot represent a non string value: 5'],
  ])('are refused by their first fault alone: %s', async (_what, input, fault) => {
    const { status, body } = await app.query(mutation, { variables: { input } });
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([
      { message: `Variable "$input" got an invalid value${fault}`, extensions: { code: 'BAD_USER_INPUT' } },
    ]);
  });

  it('of a stream as well', async () => {
    const query =
      'subscription ($branch: String) { branchMoved(organization: "acme", project: "site", branch: $branch) { __typename } }';
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', Authorization: `Bearer ${app.full}` },
      body: JSON.stringify({ query, variables: { branch: many } }),
    });
    const text = await response.text();
    expect(text.match(/got an invalid value/g)).toHaveLength(1);
    expect(text.length).toBeLessThan(5_000);
  });
});

describe('free values in an address', () => {
  it('are refused when they are nested more than 100 levels deep', async () => {
    const query =
      'query ($v: JSON!) { project(organization: "acme", project: "site") { validate_workflow(definition: $v) { __typename } } }';
    const variables = encodeURIComponent(`{"v":${'['.repeat(2_000)}${']'.repeat(2_000)}}`);
    const { status, body } = await app.send(`/graphql?query=${encodeURIComponent(query)}&variables=${variables}`, {
      token: app.full,
      headers: { 'Apollo-Require-Preflight': 'true' },
    });
    expect(status).toBe(400);
    expect(body.errors[0].message).toContain('nested more than 100 levels');
  });
});

describe('introspection', () => {
  it('is exempt from depth', async () => {
    const type = (levels: number): string => (levels === 0 ? 'name' : `name ofType { ${type(levels - 1)} }`);
    await passes(`{ __schema { types { fields { type { ${type(10)} } } } } }`);
  });

  it('is not exempt from tokens', async () => {
    app.reset();
    await isRefused(`{ __schema { types { ${'name '.repeat(2000)} } } }`, 'tokens', 2000);
  });

  it('cannot go round in circles', async () => {
    const { status, body } = await app.query(
      '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
    );
    expect(status).toBe(400);
    expect(body.errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });
});
