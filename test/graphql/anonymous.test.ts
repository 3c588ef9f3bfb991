import {
  type GraphQLField,
  type GraphQLInputType,
  getIntrospectionQuery,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildGraphqlSchema } from '../../src/graphql/schema.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

/** Some value of an input type, as written in a document. */
function example(type: GraphQLInputType): string {
  if (isNonNullType(type)) return example(type.ofType);
  if (isListType(type)) return '[]';
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).filter(isRequiredInputField);
    return `{ ${fields.map((field) => `${field.name}: ${example(field.type)}`).join(', ')} }`;
  }
  return { Int: '1', Float: '1', Long: '1', Boolean: 'true', JSON: '{}' }[type.name] ?? '"acme"';
}

function ask(field: GraphQLField<unknown, unknown>): string {
  const args = field.args.filter(isRequiredArgument).map((arg) => `${arg.name}: ${example(arg.type)}`);
  const below = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
  return `${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}${below}`;
}

describe('without a credential', () => {
  const schema = buildGraphqlSchema();
  const fields = (['Query', 'Mutation'] as const).flatMap((kind) => {
    const type = kind === 'Query' ? schema.getQueryType() : schema.getMutationType();
    return Object.values(type?.getFields() ?? {}).map((field) => [kind, field.name, ask(field)] as const);
  });
  /** What a person needs who is not signed in, to be so. */
  const open = ['instance', 'me', 'setup', 'signIn', 'acceptInvitation', 'resetPassword'];

  it.each(fields.filter(([, name]) => !open.includes(name)))('%s.%s is refused', async (kind, name, text) => {
    const { status, body } = await app.query(`${kind.toLowerCase()} { ${text} }`, { token: null });
    expect(status).toBe(200);
    expect(body.data).toEqual({ [name]: null });
    expect(body.errors).toMatchObject([
      { message: 'Unauthenticated', extensions: { code: 'UNAUTHENTICATED', reason: 'unauthenticated' } },
    ]);
  });
});

describe('introspection', () => {
  it('is for authenticated callers', async () => {
    expect((await app.query(getIntrospectionQuery())).body.data.__schema.queryType).toEqual({
      name: 'Query',
      kind: 'OBJECT',
    });
    for (const document of [
      getIntrospectionQuery(),
      '{ me { id } ...F } fragment F on Query { t: __type(name: "Query") { name } }',
    ]) {
      const { status, body } = await app.query(document, { token: null });
      expect(status).toBe(200);
      expect(body.data).toBeNull();
      expect(body.errors[0].extensions).toEqual({
        code: 'UNAUTHENTICATED',
        reason: 'unauthenticated',
        request_id: 'test-request',
      });
    }
    expect(
      (await app.query('{ __type(name: "Query") { name } t: __type(name: "Me") { name } }', { token: null })).body,
    ).toEqual({
      data: { __type: null, t: null },
    });
    expect((await app.query('{ __typename }', { token: null })).body).toEqual({ data: { __typename: 'Query' } });
  });

  it('is for all when the setting says so', async () => {
    const shown = await graphqlApp({ introspection: true });
    try {
      expect((await shown.query('{ __type(name: "Query") { name } }', { token: null })).body.data.__type.name).toBe(
        'Query',
      );
    } finally {
      await shown.close();
    }
  });
});

describe('suggestions of names', () => {
  const misspelt = [
    ['a field', '{ organization { nodes { name } } me { nam } }'],
    ['a type', '{ me { ...F } } fragment F on Mee { id }'],
    ['an argument', '{ organizations(frist: 1) { total_count } }'],
  ] as const;

  it.each(misspelt)('are kept from callers we do not know: %s', async (_kind, document) => {
    const known = await app.query(document);
    const unknown = await app.query(document, { token: null });
    expect(JSON.stringify(known.body)).toContain('Did you mean');
    expect(JSON.stringify(unknown.body)).not.toContain('Did you mean');
    expect(unknown.body.errors.map((error: { message: string }) => error.message).every(Boolean)).toBe(true);
  });

  // To look for a name like one of megabytes would hold the server.
  it.each([
    [
      'an enum in a variable',
      'mutation ($i: CreateTokenInput!) { createToken(organization: "acme", input: $i) { id } }',
      { i: { name: 'x', permissions: ['browse_studi'] } },
    ],
    [
      'an input field in a variable',
      'mutation ($i: CreateTokenInput!) { createToken(organization: "acme", input: $i) { id } }',
      { i: { nme: 'x' } },
    ],
  ] as const)('are made for no caller: %s', async (_kind, document, variables) => {
    for (const token of [app.full, null]) {
      const { body } = await app.query(document, { token, variables });
      expect(JSON.stringify(body)).not.toContain('Did you mean');
      expect(body.errors[0].message).toContain('Variable "$i" got an invalid value');
    }
  });
});
