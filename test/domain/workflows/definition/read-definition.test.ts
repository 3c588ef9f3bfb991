import { describe, expect, it } from 'vitest';
import { readDefinition } from '../../../../src/domain/workflows/definition/read-definition.ts';
import { stepOperationsOf } from '../../../../src/domain/workflows/step-operations.ts';
import { faults, read, withSteps } from '../../../support/workflows/definitions.ts';

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
    ['an unknown key', withSteps('  - {id: a, type: fail, mesage: x}'), [['/steps/0/mesage', 'unknown_key', 3]]],
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
    ['an unknown type', withSteps('  - {id: a, type: shell}'), [['/steps/0/type', 'invalid_value', 3]]],
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
      'an unknown name',
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

const http = (field: string) => withSteps(`  - {id: a, type: http, ${field}}`);

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

  it.each([
    'secrets[name]',
    '$lookup(secrets, vars.which)',
    '$each(secrets, function($v) {$v})',
    'secrets',
    '$$.secrets',
  ])('a secret is named: %s would read as empty where it is not set', async (expression) => {
    expect(await faults(http(`url: "https://a.example", headers: {x: "\${{ ${expression} }}"}`))).toEqual([
      ['/steps/0/headers/x', 'secret_not_named', 3],
    ]);
  });

  it('a secret that is looked up by a literal is named', async () => {
    const source = http(`url: "https://a.example", headers: {x: "\${{ $lookup(secrets, 'ONE') }}"}`);
    const { errors, warnings } = await read(source);
    expect(errors).toEqual([]);
    expect(warnings.map(({ message }) => message)).toEqual(['the secret "ONE" is not set']);
  });

  it('secrets are for http steps', async () => {
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

describe('functions and variables of expressions', () => {
  const transform = (expression: string) =>
    read(withSteps(`  - {id: a, type: transform, expression: ${JSON.stringify(expression)}}`));

  it.each([
    '$uppercase(input.name)',
    '$map(input, $uppercase)',
    'input ~> $trim ~> $split(" ")',
    '$substringAfter(?, "a")',
    '($f := function($n) { $n < 2 ? 1 : $n * $f($n - 1) }; $f(input))',
    'input@$i#$at.{"i": $i, "at": $at}',
    'input.items ~> |price|{"net": $ * $$.input.rate}|',
    'input^(>$)',
    '[$now(), $millis(), $random(), $error("no")]',
    '$match(input, /a+/)',
  ])('that are there: %s', async (expression) => {
    expect((await transform(expression)).errors).toEqual([]);
  });

  it.each([
    ['$upper(input)', 'unknown_function', 'function "$upper" does not exist'],
    ['input.items.$nope(a)', 'unknown_function', 'function "$nope" does not exist'],
    ['input ~> $trimm', 'unknown_function', 'function "$trimm" does not exist'],
    ['$substr(?, 1)', 'unknown_function', 'function "$substr" does not exist'],
    ['input ~> |a|{"b": $deep()}|', 'unknown_function', 'function "$deep" does not exist'],
    ['$map(input, $uppercas)', 'unknown_variable', 'variable "$uppercas" does not exist'],
    ['($a := 1; $b)', 'unknown_variable', 'variable "$b" does not exist'],
    ['$eval("1")', 'unknown_function', '"$eval" is not available in workflows'],
    ['$toString(1)', 'unknown_function', 'function "$toString" does not exist'],
    ['$constructor(1)', 'unknown_function', 'function "$constructor" does not exist'],
  ])('that are not: %s', async (expression, code, message) => {
    expect((await transform(expression)).errors).toMatchObject([
      { field: '/steps/0/expression', code, message, line: 3 },
    ]);
  });

  it('are found where a template stands in the middle of a text', async () => {
    const { errors } = await read(withSteps('  - {id: a, type: fail, message: "No ${{ $lower(input.name) }}"}'));
    expect(errors).toMatchObject([{ field: '/steps/0/message', code: 'unknown_function', line: 3 }]);
  });
});

it('a secret that is not set is a warning, since a workflow has to exist before its secrets can be set', async () => {
  const source = withSteps('  - {id: a, type: http, url: "https://a.example/${{ secrets.ONE }}?${{ secrets.TWO }}"}');
  const { errors, warnings, definition } = await readDefinition(source, stepOperationsOf([]), new Set(['TWO']));
  expect([errors, definition === null]).toEqual([[], false]);
  expect(warnings).toMatchObject([
    { field: '/steps/0/url', code: 'secret_not_set', message: 'the secret "ONE" is not set', line: 3 },
  ]);
});

it('says what would be right, in words of its own', async () => {
  const said = async (source: string) => (await read(source)).errors.map(({ message }) => message);
  expect(await said(withSteps('  - {id: a, type: delay, for: soon}'))).toEqual([
    'must be a duration such as 30s, 5m or PT1H, at most 31536000 seconds, or a template',
  ]);
  expect(await said('portico: workflow/1\n---\na: 1')).toEqual(['holds more than one document']);
});
