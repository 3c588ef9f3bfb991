import { expect, it } from 'vitest';
import { parseExpression } from '../../../../src/domain/workflows/expressions/parse-expression.ts';
import { plainPath, referencesOf } from '../../../../src/domain/workflows/expressions/references.ts';

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
