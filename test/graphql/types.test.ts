import { type GraphQLSchema, printSchema, printType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withoutNulls } from '../../src/graphql/context.ts';
import { schemaOf } from '../../src/graphql/schema.ts';
import { field, mutation } from '../../src/graphql/table.ts';
import { type AnyOperation, publicOperation } from '../../src/kernel/operation.ts';
import { pageInput, pageOf } from '../../src/kernel/paging.ts';
import { timestamp, timeText } from '../../src/kernel/shapes.ts';

let count = 0;

/** An operation of a kind, for its shapes only. */
function operation(shapes: { input?: z.ZodObject; output?: z.ZodType; freshGrant?: boolean; irreversible?: boolean }) {
  const { input = z.object({}), output = z.null(), ...rest } = shapes;
  count += 1;
  return publicOperation({
    name: `test.makeThing${count}`,
    kind: 'command',
    permission: 'public',
    summary: 'Test',
    input,
    output,
    audit: () => ({ type: 'test', id: null }),
    execute: async () => null as never,
    ...rest,
  });
}

/** The schema of a query that answers as an operation does. */
const schemaWith = (made: AnyOperation): GraphQLSchema => schemaOf([field('Query', 'thing', made)]);

const textOf = (made: AnyOperation) => printSchema(schemaWith(made));

function outputText(shape: z.ZodRawShape): string {
  const type = schemaWith(operation({ output: z.object(shape).meta({ id: 'Out' }) })).getType('Out');
  return type ? printType(type) : '';
}

function inputText(
  shape: z.ZodRawShape,
  more: { freshGrant?: boolean; irreversible?: boolean; comparesTag?: true } = {},
): string {
  const made = operation({ input: z.object(shape), output: z.string(), freshGrant: true, ...more });
  const type = schemaOf([mutation('thing', made)]).getType('ThingInput');
  return type ? printType(type) : '';
}

describe('an answer', () => {
  it('has the scalars of its schema', () => {
    expect(
      outputText({
        text: z.string(),
        id: z.uuid(),
        flag: z.boolean(),
        yes: z.literal(true),
        number: z.number(),
        small: z.int32(),
        bounded: z.int().min(0).max(100),
        bytes: z.int(),
        long: z
          .int()
          .min(0)
          .max(2 ** 31),
        when: timestamp,
        text_time: timeText,
        unix_time: z.int().meta({ format: 'unix-time' }).nullable(),
      }),
    ).toBe(`type Out {
  text: String!
  id: String!
  flag: Boolean!
  yes: Boolean!
  number: Float!
  small: Int!
  bounded: Int!
  bytes: Long!
  long: Long!
  when: DateTime!
  text_time: DateTime!
  unix_time: DateTime
}`);
  });

  it('has null where the schema has null or nothing', () => {
    expect(
      outputText({
        a: z.string().optional(),
        b: z.string().nullable(),
        c: timestamp.nullable().optional(),
        d: z.union([z.string(), z.null()]),
        e: z.string().default('x'),
        f: z.array(z.string().nullable()).optional(),
        g: z.array(z.array(z.int32())),
      }),
    ).toBe(`type Out {
  a: String
  b: String
  c: DateTime
  d: String
  e: String!
  f: [String]
  g: [[Int!]!]!
}`);
  });

  it('has JSON for what has no fixed shape', () => {
    expect(
      outputText({
        record: z.record(z.string(), z.string()),
        anything: z.unknown(),
        open: z.looseObject({ a: z.string() }),
        empty: z.object({}),
        mixed: z.union([z.string(), z.object({ a: z.string() })]),
        pair: z.tuple([z.string(), z.string()]),
      }),
    ).toBe(`type Out {
  record: JSON!
  anything: JSON
  open: JSON!
  empty: JSON!
  mixed: JSON!
  pair: JSON!
}`);
  });

  it('says what its fields are', () => {
    expect(
      outputText({
        outside: z.string().optional().describe('Outside'),
        inside: z.string().describe('Inside').nullable(),
        choice: z.enum(['utf-8', 'base64']).describe('How'),
      }),
    ).toBe(`type Out {
  """Outside"""
  outside: String

  """Inside"""
  inside: String

  """How. One of: utf-8, base64"""
  choice: String!
}`);
  });

  it('shares an enum by its name, and by its schema without one', () => {
    const named = z.enum(['up', 'down']).meta({ id: 'Direction' });
    const unnamed = z.enum(['left', 'right']);
    const made = operation({
      output: z
        .object({ a: named, b: named.describe('Again').optional(), c: z.array(unnamed), d: unnamed.nullable() })
        .meta({ id: 'Turn' }),
    });
    const text = textOf(made);
    expect(text).toContain('enum Direction {\n  up\n  down\n}');
    expect(text).toContain('enum TurnC {\n  left\n  right\n}');
    expect(text).toMatch(/a: Direction!\s+"""Again"""\s+b: Direction\s+c: \[TurnC!\]!\s+d: TurnC/);
  });

  it('has a union for a discriminated one', async () => {
    const shape = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), radius: z.number() }).meta({ id: 'Circle' }),
      z.object({ kind: z.literal('square'), side: z.number() }),
    ]);
    const made = operation({ output: z.object({ figure: shape }).meta({ id: 'Drawing' }) });
    const text = textOf(made);
    expect(text).toContain('union DrawingFigure = Circle | DrawingFigureSquare');
  });

  it('may hold itself', () => {
    const node = z
      .object({
        name: z.string(),
        get children() {
          return z.array(node).optional();
        },
      })
      .meta({ id: 'TreeNode' });
    expect(textOf(operation({ output: node }))).toContain('children: [TreeNode!]');
  });

  it('is a connection when it is a page', () => {
    const item = z.object({ a: z.string() }).meta({ id: 'Fruit' });
    const list = operation({ input: z.object(pageInput), output: pageOf(item) });
    const text = textOf(list);
    expect(text).toContain(
      'type FruitConnection {\n  edges: [FruitEdge!]!\n  nodes: [Fruit!]!\n  page_info: PageInfo!\n  total_count: Int!\n}',
    );
    expect(text).toContain('type FruitEdge {\n  cursor: String!\n  node: Fruit!\n}');
  });

  it('needs a name, and one that no other schema has', () => {
    expect(() => textOf(operation({ output: pageOf(z.object({ a: z.string() })) }))).toThrow(/needs a name/);
    const unique = z.object({ a: z.string() }).meta({ id: 'UniQue' });
    const rival = (nested: string) => z.object({ unique, [nested]: z.object({ x: z.string() }) }).meta({ id: 'Uni' });
    expect(() => textOf(operation({ output: rival('que') }))).toThrow(/Two schemas give the GraphQL type UniQue/);
    expect(() => textOf(operation({ output: rival('other') }))).not.toThrow();
  });

  it('of a shape GraphQL cannot hold is refused', () => {
    expect(() => outputText({ 'no-name': z.string() })).toThrow(/not a name/);
    expect(() => outputText({ big: z.bigint() })).toThrow(/no GraphQL type for a zod bigint/);
  });
});

describe('an input', () => {
  it('leaves its place to arguments, and may leave out what has a default', () => {
    expect(
      inputText({
        organization: z.string(),
        project: z.string(),
        name: z.string().trim().min(1),
        mode: z.string().default('x'),
        size: z.int32().optional(),
        since: timestamp.optional(),
        free: z.record(z.string(), z.unknown()),
        either: z.union([z.string(), z.int()]),
        inner: z.object({ a: z.string().optional() }),
      }),
    ).toBe(`input ThingInput {
  name: String!
  mode: String
  size: Int
  since: DateTime
  free: JSON!
  either: JSON!
  inner: ThingInnerInput!
}`);
  });

  it('of a command carries the conditions of the call', () => {
    const fields = (text: string) => [...text.matchAll(/^ {2}(\w+):/gm)].map((match) => match[1]);
    expect(fields(inputText({ a: z.string() }, { freshGrant: false }))).toEqual(['a', 'idempotency_key']);
    expect(fields(inputText({ a: z.string() }, { freshGrant: false, comparesTag: true }))).toEqual([
      'a',
      'if_match',
      'idempotency_key',
    ]);
    expect(fields(inputText({ a: z.string() }, { freshGrant: false, irreversible: true }))).toEqual(['a']);
    expect(fields(inputText({ a: z.string() }, { freshGrant: true }))).toEqual(['a']);
  });

  it('of a list is its filters, `first` and `after`', () => {
    const list = operation({
      input: z.object({ ...pageInput, q: z.string().optional() }),
      output: pageOf(z.object({ a: z.string() }).meta({ id: 'Listed' })),
    });
    const args = schemaWith(list)
      .getQueryType()
      ?.getFields()
      .thing?.args.map(({ name }) => name);
    expect(args).toEqual(['q', 'first', 'after']);
  });
});

describe('null in an input', () => {
  const schema = z.object({
    a: z.string().optional(),
    b: z.string().nullable().optional(),
    c: z.object({ d: z.int().optional() }).optional(),
    e: z.array(z.object({ f: z.string().optional() })).optional(),
    g: z.record(z.string(), z.unknown()).optional(),
  });

  it('is nothing where the operation takes no null', () => {
    expect(withoutNulls(schema, { a: null, b: null, c: { d: null }, e: [{ f: null }], g: { x: null } })).toEqual({
      b: null,
      c: {},
      e: [{}],
      g: { x: null },
    });
  });
});
