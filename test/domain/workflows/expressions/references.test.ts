import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, describe, expect, it } from 'vitest';
import { parseExpression } from '../../../../src/domain/workflows/expressions/parse-expression.ts';
import { builtIns, plainPath, referencesOf } from '../../../../src/domain/workflows/expressions/references.ts';
import { createExpressions } from '../../../../src/engines/expressions/expressions.ts';

it.each([
  ['steps.note.output.branch', ['steps.note']],
  ['input.a[steps.x = 1].b{c: d}', ['input.a']],
  ['( $n := $string(input.body.number); {"a": steps.b} )', ['input.body', 'steps.b']],
  ['$$.steps.x', ['steps.x']],
  ['$.steps.x', ['steps.x']],
  ['input.a[$$.steps.q]', ['input.a', 'steps.q']],
  ['$map(input.x, function($v){ $v.z + steps.q })', ['input.x', 'steps.q']],
  ['input.x^(>p)', ['input.x']],
  ['steps["x"]', ['steps']],
  ['input ~> |a|{"b": c}|', ['input']],
  ['input.x ? steps.a : steps.b', ['input.x', 'steps.a', 'steps.b']],
  ['[steps.a, {"k": steps.b}]', ['steps.a', 'steps.b']],
  ['input.list.(name & $$.vars.x)', ['input.list', 'vars.x']],
])('%s asks the root for %j', (text, expected) => {
  const names = referencesOf(parseExpression(text)).map(({ root, member }) =>
    member === null ? root : `${root}.${member}`,
  );
  expect(names).toEqual(expected);
});

it.each([
  ['input', ['input']],
  ['input.headers.`x-github-event`', ['input', 'headers', 'x-github-event']],
  ['input.a[0]', null],
  ['input.*', null],
  ['input.a[]', null],
  ['$$.a', null],
  ['a + b', null],
  ['"text"', null],
])('%s followed without an interpreter: %j', (text, expected) => {
  expect(plainPath(parseExpression(text))).toEqual(expected);
});

describe('the functions that are there', () => {
  const evaluator = createExpressions();
  afterAll(() => evaluator.close());

  it('are those of the interpreter, and no others', async () => {
    const source = await readFile(createRequire(import.meta.url).resolve('jsonata'), 'utf8');
    const bound = [...source.matchAll(/(?:staticFrame|environment)\.bind\('(\w+)'/g)].map(([, name]) => name ?? '');
    expect(new Set(bound.filter((name) => name !== 'eval'))).toEqual(builtIns);
  });

  it('can each be found by an expression', async () => {
    const types = await evaluator.evaluate(`[${[...builtIns].map((name) => `$type($${name})`).join(', ')}]`, {});
    expect(new Set(types as string[])).toEqual(new Set(['function']));
  });
});
