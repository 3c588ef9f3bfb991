import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  evaluateExpression,
  fillTemplates,
  holds,
  type Scope,
} from '../../../../src/domain/workflows/expressions/evaluate.ts';
import { createExpressions } from '../../../../src/engines/expressions/expressions.ts';
import type { Expressions } from '../../../../src/ports/expressions.ts';
import fc from '../../../support/properties.ts';

let real: Expressions;
/** The contexts that were sent away. */
let sent: object[] = [];
let expressions: Expressions;
beforeAll(() => {
  real = createExpressions({ processes: 1 });
  expressions = {
    ...real,
    evaluate: (text, context, options) => {
      sent.push(context);
      return real.evaluate(text, context, options);
    },
  };
});
afterAll(() => real?.close());

const scope: Scope = {
  input: { body: { title: 'Hello', n: 2, list: [{ a: 1 }, { a: 2 }] }, 'x-event': 'push' },
  steps: { one: { output: { branch: 'b' } }, two: { output: 'big' } },
  vars: { limit: 3 },
};
const evaluate = (text: string) => {
  sent = [];
  return evaluateExpression(text, { expressions, scope });
};

describe('plain paths', () => {
  it.each([
    ['input.body.title', 'Hello'],
    ['steps.one.output.branch', 'b'],
    ['input.`x-event`', 'push'],
    ['input.nothing.more', undefined],
    ['input.body.list', [{ a: 1 }, { a: 2 }]],
    ['input.constructor', undefined],
  ])('%s is followed here', async (text, value) => {
    expect(await evaluate(text)).toEqual(value);
    expect(sent).toEqual([]);
  });

  it('over a list it is JSONata’s', async () => {
    expect(await evaluate('input.body.list.a')).toEqual([1, 2]);
    expect(sent).toHaveLength(1);
  });

  it('give what the interpreter gives', async () => {
    const names = fc.constantFrom('a', 'b', 'c');
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(1, 'x', true, null, []),
        fc.array(tie('tree'), { maxLength: 2 }),
        fc.dictionary(names, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree, fc.array(names, { minLength: 1, maxLength: 3 }), async (value, path) => {
        const text = ['root', ...path].join('.');
        const here = await evaluateExpression(text, { expressions: real, scope: { root: value } });
        expect(here).toEqual(await real.evaluate(text, { root: value }));
      }),
      { numRuns: 300 },
    );
  });
});

it('sends no more of the context than is named', async () => {
  expect(await evaluate('$uppercase(steps.one.output.branch) & vars.limit')).toBe('B3');
  expect(sent).toEqual([{ steps: { one: { output: { branch: 'b' } } }, vars: { limit: 3 } }]);
  expect(await evaluate('$keys($$)')).toEqual(['input', 'steps', 'vars']);
  expect(await evaluate('$keys($)')).toEqual(['input', 'steps', 'vars']);
  expect(await evaluate('$count(*)')).toBe(3);
  expect(await evaluate('$$.vars.limit + 1')).toBe(4);
  expect(await evaluate('$keys(steps)')).toEqual(['one', 'two']);
});

describe('templates', () => {
  const fill = (value: unknown) => fillTemplates(value, { expressions, scope });

  it.each([
    ['${{ input.body.n }}', 2],
    ['n = ${{ input.body.n }}', 'n = 2'],
    ['${{ input.body.list }}', [{ a: 1 }, { a: 2 }]],
    ['list ${{ input.body.list }}', 'list [{"a":1},{"a":2}]'],
    ['[${{ input.nothing }}]', '[]'],
    ['$${{ x }}', '${{ x }}'],
    ['', ''],
  ])('%s', async (text, value) => {
    expect(await fill(text)).toEqual(value);
  });

  it('in values of any shape; what finds nothing is left out', async () => {
    const value = {
      a: '${{ input.nothing }}',
      b: ['${{ input.nothing }}', 1, { c: '${{ vars.limit }}' }],
      d: null,
      e: true,
    };
    expect(await fill(value)).toEqual({ b: [null, 1, { c: 3 }], d: null, e: true });
  });

  it('that name one large value over and over are refused, be it as text or as it is', async () => {
    const large = { text: 'a'.repeat(1024 * 1024), body: ['b'.repeat(1024 * 1024)] };
    const fillLarge = (value: unknown) => fillTemplates(value, { expressions, scope: large });
    const tooLarge = { fault: 'result_too_large', message: 'what templates make of it is larger than 32 MiB' };
    await expect(fillLarge('${{ text }}'.repeat(33))).rejects.toMatchObject(tooLarge);
    await expect(fillLarge('${{ body }}'.repeat(33))).rejects.toMatchObject(tooLarge);
    await expect(fillLarge(new Array(33).fill('${{ text }}'))).rejects.toMatchObject(tooLarge);
    await expect(fillLarge(new Array(33).fill('${{ body }}'))).rejects.toMatchObject(tooLarge);
    expect(await fillLarge(`${'${{ text }}'.repeat(30)}${'${{ body }}'}`)).toHaveLength(31 * 1024 * 1024 + 4);
  });

  it('turn one object into text once, however often they name it', async () => {
    let turned = 0;
    const body = { toJSON: () => String(++turned) };
    expect(await fillTemplates('${{ body }} ${{ body }}'.repeat(100), { expressions, scope: { body } })).toContain(
      '"1"',
    );
    expect(turned).toBe(1);
  });
});

it.each([
  ['input.body.n = 2', true],
  ['input.body.n', true],
  ['input.body.nothing', false],
  ['""', false],
  ['[]', false],
  ['{}', false],
  ['[0]', false],
  ['"false"', true],
])('%s holds: %s', async (text, expected) => {
  expect(await holds(text, { expressions, scope })).toBe(expected);
});
