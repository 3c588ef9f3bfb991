import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { projectOperation } from '../../../../src/domain/operation.ts';
import { readDefinition } from '../../../../src/domain/workflows/definition/read-definition.ts';
import { stepOperationsOf } from '../../../../src/domain/workflows/step-operations.ts';

const branchOperation = projectOperation({
  name: 'studio.createBranch',
  kind: 'query',
  permission: 'edit_studio',
  summary: 'Create a branch',
  input: z.object({ name: z.string(), from: z.string().optional(), force: z.boolean().optional() }),
  output: z.null(),
  execute: async () => null,
});
const operations = stepOperationsOf([{ operation: branchOperation, needsStream: false }]);

const read = (source: string) => readDefinition(source, operations);
const withSteps = (steps: string, more = '') => `portico: workflow/1\n${more}steps:\n${steps}`;
const faults = async (source: string) =>
  (await read(source)).errors.map(({ field, code, line }) => [field, code, line]);

it('reads a definition in YAML with its comments, and the same in JSON', async () => {
  const yaml = withSteps(
    `
  # what is new
  - id: note
    type: transform
    expression: |
      { "title": input.body.title }
  - id: branch
    type: operation
    operation: studio.createBranch
    with: { name: "notes/\${{ steps.note.output.title }}", from: main }
`,
    'permissions: [edit_studio]\n',
  );
  const { definition, errors, warnings } = await read(yaml);
  expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
  expect((await read(JSON.stringify(definition, null, 2))).definition).toEqual(definition);
  expect((await read(JSON.stringify(definition))).definition).toEqual(definition);
});

describe('says where', () => {
  it.each([
    ['a key nobody knows', withSteps('  - {id: a, type: fail, mesage: x}'), [['/steps/0/mesage', 'unknown_key', 3]]],
    [
      'a key of later',
      withSteps('  - {id: a, type: fail}', 'concurrency: {limit: 1, on_limit: cancel_previous}\n'),
      [['/concurrency/on_limit', 'not_available', 2]],
    ],
    ['a step type of later', withSteps('  - id: a\n    type: switch'), [['/steps/0/type', 'not_available', 4]]],
    [
      'a list of steps for on_error',
      withSteps('  - {id: a, type: fail, on_error: []}'),
      [['/steps/0/on_error', 'not_available', 3]],
    ],
    ['a type nobody knows', withSteps('  - {id: a, type: shell}'), [['/steps/0/type', 'invalid_value', 3]]],
    ['a missing field', withSteps('  - id: a\n    type: transform'), [['/steps/0/expression', 'invalid_value', 3]]],
    ['the format', 'portico: workflow/2\nsteps: [{id: a, type: fail}]', [['/portico', 'invalid_value', 1]]],
    ['no step', 'portico: workflow/1\nsteps: []', [['/steps', 'invalid_value', 2]]],
    [
      'one id twice',
      withSteps('  - {id: a, type: fail, if: "false"}\n  - {id: a, type: fail}'),
      [['/steps/1/id', 'duplicate_id', 4]],
    ],
    ['a key twice', 'portico: workflow/1\nportico: workflow/1\nsteps: []', [['', 'syntax', 2]]],
    [
      'a number and a text that are the same key',
      withSteps('  - {id: a, type: fail}', 'variables: {1: a,\n  "1": b}\n'),
      [['', 'syntax', 3]],
    ],
    [
      'a key twice by an alias',
      withSteps('  - {id: a, type: fail}', 'variables:\n  a: &k b\n  b: 1\n  *k : 2\n'),
      [['', 'syntax', 5]],
    ],
    ['a list as a key', withSteps('  - {id: a, type: fail}', 'variables: {[a]: b}\n'), [['', 'syntax', 2]]],
    ['an alias of nothing', withSteps('  - *a\n  - &a {id: a, type: fail}'), [['', 'syntax', 3]]],
    [
      'an alias within what it stands for',
      withSteps('  - {id: a, type: fail}', 'variables:\n  a: &a\n    b: *a\n'),
      [['', 'syntax', 4]],
    ],
    ['a tag', withSteps('  - !!js/function x'), [['', 'syntax', 3]]],
    [
      'a key objects mean something by',
      withSteps('  - {id: a, type: fail}', 'variables: {__proto__: {a: 1}}\n'),
      [['', 'syntax', 2]],
    ],
    ['a bad duration', withSteps('  - {id: a, type: delay, for: soon}'), [['/steps/0/for', 'invalid_value', 3]]],
    [
      'a duration that only looks like a template',
      withSteps('  - {id: a, type: delay, for: "$${{ vars.x }}"}'),
      [['/steps/0/for', 'invalid_value', 3]],
    ],
    ['a control character', withSteps('  - {id: a, type: fail, message: "x\u0000"}'), [['', 'syntax', 3]]],
    ['a second document', withSteps('  - {id: a, type: fail}\n---\na: 1'), [['', 'syntax', 4]]],
    [
      'an input the operation does not know',
      withSteps(
        '  - {id: a, type: operation, operation: studio.createBranch, with: {name: a, form: main, project: other}}',
        'permissions: [edit_studio]\n',
      ),
      [
        ['/steps/0/with/form', 'unknown_key', 4],
        ['/steps/0/with/project', 'unknown_key', 4],
      ],
    ],
    [
      'a time limit that is too long',
      withSteps('  - {id: a, type: http, url: "https://a.example", timeout: 16m}'),
      [['/steps/0/timeout', 'invalid_value', 3]],
    ],
    [
      'an expression in a block',
      withSteps('  - id: a\n    type: transform\n    expression: |\n      {\n        "a": (1 +\n      }'),
      [['/steps/0/expression', 'bad_expression', 8]],
    ],
    [
      'a template that is open',
      withSteps('  - {id: a, type: fail, message: "x ${{ input"}'),
      [['/steps/0/message', 'syntax', 3]],
    ],
    [
      'a step that is not there',
      withSteps('  - {id: a, type: transform, expression: steps.b.output}'),
      [['/steps/0/expression', 'unknown_step', 3]],
    ],
    [
      'a step that comes later',
      withSteps(
        '  - {id: a, type: transform, expression: steps.b.output}\n  - {id: b, type: transform, expression: "1"}',
      ),
      [['/steps/0/expression', 'step_not_run', 3]],
    ],
    [
      'a step that asks itself',
      withSteps('  - {id: a, type: transform, expression: steps.a.output}'),
      [['/steps/0/expression', 'step_not_run', 3]],
    ],
    [
      'a name nobody knows',
      withSteps('  - {id: a, type: transform, expression: inputs.body}'),
      [['/steps/0/expression', 'unknown_name', 3]],
    ],
    [
      'item outside a loop',
      withSteps('  - {id: a, type: transform, expression: item.x}'),
      [['/steps/0/expression', 'unknown_name', 3]],
    ],
    [
      'a secret in a transform',
      withSteps('  - {id: a, type: transform, expression: secrets.KEY}'),
      [['/steps/0/expression', 'secret_not_allowed', 3]],
    ],
    [
      'what follows the end',
      withSteps('  - {id: a, type: fail}\n  - {id: b, type: transform, expression: "1"}'),
      [['/steps/1', 'unreachable', 4]],
    ],
    [
      'an operation that is not there',
      withSteps('  - {id: a, type: operation, operation: studio.nothing}'),
      [['/steps/0/operation', 'unknown_operation', 3]],
    ],
    [
      'a permission that is not listed',
      withSteps('  - {id: a, type: operation, operation: studio.createBranch, with: {name: x}}'),
      [['/steps/0/operation', 'missing_permission', 3]],
    ],
  ])('%s', async (_what, source, expected) => {
    expect(await faults(source)).toEqual(expected);
    expect((await read(source)).definition).toBeNull();
  });
});

describe('inputs of operations', () => {
  const step = (input: string, more = '') =>
    withSteps(
      `  - {id: a, type: operation, operation: studio.createBranch, with: ${input}${more}}`,
      'permissions: [edit_studio]\n',
    );

  it('are held against the schema as far as they are literal', async () => {
    expect(await faults(step('{name: 1}'))).toEqual([['/steps/0/with/name', 'invalid_input', 4]]);
    expect(await faults(step('{}'))).toEqual([['/steps/0/with/name', 'invalid_input', 4]]);
    expect(await faults(step('{name: x, force: "${{ input.force }}"}'))).toEqual([]);
  });

  it('of an operation that starts nothing cannot be waited for', async () => {
    expect(await faults(step('{name: x}', ', wait: true'))).toEqual([['/steps/0/wait', 'not_awaitable', 4]]);
  });
});

describe('scopes', () => {
  it('a step of a condition may not have run, its condition has', async () => {
    const { errors, warnings } = await read(
      withSteps(`
  - id: which
    type: condition
    expression: input.a
    then: [{id: yes, type: transform, expression: "1"}]
  - {id: use, type: transform, expression: "[steps.yes.output, steps.which.output]"}
`),
    );
    expect(errors).toEqual([]);
    expect(warnings.map(({ code, field, line }) => [code, field, line])).toEqual([
      ['step_may_not_run', '/steps/1/expression', 8],
    ]);
  });

  it('branches do not see one another, and are seen afterwards', async () => {
    const parallel = (right: string, after: string) =>
      withSteps(`
  - id: both
    type: parallel
    branches:
      left: [{id: l, type: transform, expression: "1"}]
      right: [{id: r, type: transform, expression: "${right}"}]
  - {id: after, type: transform, expression: "${after}"}
`);
    expect(await faults(parallel('steps.l.output', '1'))).toEqual([
      ['/steps/0/branches/right/0/expression', 'step_not_run', 8],
    ]);
    expect(await read(parallel('1', 'steps.l.output + steps.r.output'))).toMatchObject({ errors: [], warnings: [] });
  });

  it('a loop has item and index, its steps are its own', async () => {
    const loop = (within: string, after: string) =>
      withSteps(`
  - id: each
    type: for_each
    items: input.list
    do: [{id: one, type: transform, expression: "${within}"}]
  - {id: after, type: transform, expression: "${after}"}
`);
    expect(await faults(loop('item.x + index', 'steps.each.output'))).toEqual([]);
    expect(await faults(loop('item', 'steps.one.output'))).toEqual([['/steps/1/expression', 'step_not_run', 8]]);
  });

  it('on_failure has the error and every step, without warnings', async () => {
    const source = `${withSteps('  - {id: a, type: fail}\n')}on_failure:\n  - {id: tell, type: transform, expression: "[error.code, steps.a.status]"}\n`;
    const { errors, warnings } = await read(source);
    expect(errors).toEqual([]);
    expect(warnings.map(({ code }) => code)).toEqual(['step_may_not_run']);
  });

  it('secrets are for http steps', async () => {
    const http = (field: string) => withSteps(`  - {id: a, type: http, ${field}}`);
    expect(
      await faults(
        http('url: "https://a.example/${{ secrets.KEY }}", headers: {authorization: "Bearer ${{ secrets.KEY }}"}'),
      ),
    ).toEqual([]);
    expect(await faults(http('url: "https://a.example", if: secrets.KEY'))).toEqual([
      ['/steps/0/if', 'secret_not_allowed', 3],
    ]);
  });
});

it('says what would be right, in words of its own', async () => {
  const said = async (source: string) => (await read(source)).errors.map(({ message }) => message);
  expect(await said(withSteps('  - {id: a, type: delay, for: soon}'))).toEqual([
    'must be a duration such as 30s, 5m or PT1H, at most 31536000 seconds, or a template',
  ]);
  expect(await said('portico: workflow/1\n---\na: 1')).toEqual(['holds more than one document']);
});

describe('limits, on both sides', () => {
  const many = (count: number) =>
    withSteps(Array.from({ length: count }, (_, n) => `  - {id: s${n}, type: transform, expression: "1"}`).join('\n'));
  const deep = (depth: number) => {
    let step: object = { id: 'leaf', type: 'fail' };
    for (let level = depth - 1; level > 0; level -= 1)
      step = { id: `c${level}`, type: 'condition', expression: 'true', then: [step] };
    return JSON.stringify({ portico: 'workflow/1', steps: [step] });
  };
  /** Below the object and its variables. */
  const nested = (levels: number) =>
    withSteps('  - {id: a, type: fail}', `variables: {a: ${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}\n`);
  /** With the keys and items of everything else. */
  const values = (count: number) =>
    withSteps(
      '  - {id: a, type: fail}',
      `variables:\n  list: [${Array(count - 7)
        .fill('1')
        .join(',')}]\n`,
    );
  const templates = (count: number) =>
    withSteps(`  - {id: a, type: http, url: "${'${{1}}'.repeat(count - 1)}", if: "true"}`);
  /** Sums are nested to the left: each sign is a level above its first number. */
  const adding = (levels: number) =>
    withSteps(`  - {id: a, type: transform, expression: "1${'+1'.repeat(levels - 1)}"}`);
  const aliases = (count: number) =>
    withSteps('  - {id: a, type: fail}', `variables:\n  a: &a 1\n  list: [${Array(count).fill('*a').join(', ')}]\n`);

  it.each([
    ['steps', many(500), many(501), 'too_many_steps'],
    ['nesting', deep(8), deep(9), 'too_deep'],
    ['levels of a value', nested(198), nested(199), 'syntax'],
    ['values', values(50_000), values(50_001), 'syntax'],
    ['expressions', templates(5_000), templates(5_001), 'too_many_expressions'],
    ['levels of an expression', adding(500), adding(501), 'bad_expression'],
    ['aliases', aliases(1_000), aliases(1_001), 'syntax'],
    [
      'expression',
      withSteps(`  - {id: a, type: transform, expression: "${'1'.padEnd(16_384)}"}`),
      withSteps(`  - {id: a, type: transform, expression: "${'1'.padEnd(16_385)}"}`),
      'bad_expression',
    ],
    [
      'source',
      `${withSteps('  - {id: a, type: fail}')}\n#`.padEnd(256 * 1024, '#'),
      `${withSteps('  - {id: a, type: fail}')}\n#`.padEnd(256 * 1024 + 1, '#'),
      'syntax',
    ],
  ])('%s', async (_what, within, beyond, code) => {
    expect(await faults(within)).toEqual([]);
    expect((await read(beyond)).errors.map((fault) => fault.code)).toEqual([code]);
  });

  it('an alias of an alias grows no further than an alias', async () => {
    const bomb = Array.from(
      { length: 30 },
      (_, n) => `  a${n}: &a${n} [${n === 0 ? '1' : `*a${n - 1}, *a${n - 1}`}]`,
    ).join('\n');
    const started = process.memoryUsage().heapUsed;
    expect(
      (await read(withSteps('  - {id: a, type: fail}', `variables:\n${bomb}\n`))).errors.map(({ code }) => code),
    ).toEqual(['syntax']);
    expect(process.memoryUsage().heapUsed - started).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('what would be endless, or nearly', () => {
  it.each([
    [
      '10,000 steps',
      withSteps(Array.from({ length: 10_000 }, (_, n) => `- {id: s${n}, type: fail}`).join('\n')),
      /^too_many_steps$/,
    ],
    ['10,000 steps nobody knows', withSteps('- {type: x}\n'.repeat(10_000)), /^invalid_value$/],
    ['10,000 levels', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, /./],
    [
      'conditions within conditions, a thousand deep',
      (() => {
        let step = '{"id":"leaf","type":"fail"}';
        for (let level = 0; level < 1_000; level += 1)
          step = `{"id":"c${level}","type":"condition","expression":"true","then":[${step}]}`;
        return `{"portico":"workflow/1","steps":[${step}]}`;
      })(),
      /./,
    ],
    ['a list that holds itself', 'portico: workflow/1\nsteps: &all [*all]', /^syntax$/],
    ['40,000 aliases', `a: &a 1\nlist: [${Array(40_000).fill('*a').join(', ')}]`, /^syntax$/],
    ['1,000 aliases among 40,000 values', `a: &a 1\nlist: [${'*a,'.repeat(1_000)}${'1,'.repeat(40_000)}1]`, /./],
    ['130,000 values', `[${'a,'.repeat(130_000)}a]`, /^syntax$/],
    ['60,000 documents', '---\n'.repeat(60_000), /^syntax$/],
    ['100,000 brackets', '['.repeat(100_000), /^syntax$/],
    ['30,000 keys', Array.from({ length: 30_000 }, (_, n) => `${n.toString(36)}: 1`).join('\n'), /./],
    ['30,000 templates', withSteps(`  - {id: a, type: http, url: "${'${{a}}'.repeat(30_000)}"}`), /./],
    [
      'a sum of 8,000',
      withSteps(`  - {id: a, type: transform, expression: "1${'+1'.repeat(7_999)}"}`),
      /^bad_expression$/,
    ],
    [
      '8,000 brackets',
      withSteps(`  - {id: a, type: transform, expression: "${'('.repeat(8_000)}1${')'.repeat(8_000)}"}`),
      /^bad_expression$/,
    ],
    ...[200, 500, 1_000, 2_000, 4_000].map((levels): [string, string, RegExp] => [
      `lists within lists, ${levels} deep`,
      `steps: ${'['.repeat(levels)}${']'.repeat(levels)}`,
      /^(syntax|invalid_value)$/,
    ]),
    [
      'aliases of aliases',
      withSteps(
        '  - {id: a, type: fail}',
        `variables:\n  a0: &a0 [1, 1]\n${Array.from({ length: 30 }, (_, n) => `  a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}\n`,
      ),
      /^syntax$/,
    ],
  ])('%s', async (_what, source, code) => {
    const { definition, errors } = await read(source);
    expect(definition).toBeNull();
    expect(errors[0]?.code).toMatch(code);
  });
});

describe('lets others have their turn', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** How often others have their turn, where each look at the clock takes a millisecond. */
  async function turnsIn(source: string): Promise<number> {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 1;
      return now;
    });
    let turns = 0;
    let isOver = false;
    const other = () => {
      turns += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    const { errors } = await read(source);
    isOver = true;
    expect(errors).toEqual([]);
    return turns;
  }

  it('while a long text is read', async () => {
    const list = withSteps('  - {id: a, type: fail}', `variables:\n  list: [${'1,'.repeat(20_000)}1]\n`);
    expect(await turnsIn(list)).toBeGreaterThan(1_000);
  });

  it('while many expressions are read', async () => {
    // In one text, so that there is little to read of YAML.
    const templates = withSteps(`  - {id: a, type: http, url: "${'${{1}}'.repeat(4_000)}"}`);
    expect(await turnsIn(templates)).toBeGreaterThan(150);
  });
});
