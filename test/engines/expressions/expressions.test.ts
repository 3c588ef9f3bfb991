import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allProcesses } from '../../../src/engines/deployer/processes.ts';
import { createExpressions } from '../../../src/engines/expressions/expressions.ts';
import { ExpressionError, type Expressions } from '../../../src/ports/expressions.ts';
import { standStill } from '../../support/stand-still.ts';

let expressions: Expressions;
beforeAll(() => {
  expressions = createExpressions({ processes: 1 });
});
afterAll(() => expressions.close());

const evaluate = (expression: string, context: Record<string, unknown> = {}, timeout?: number) =>
  expressions.evaluate(expression, context, timeout === undefined ? {} : { timeout });
const faultOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (error) => (error instanceof ExpressionError ? error.fault : Promise.reject(error)),
  );

it('has the value of an expression, undefined when it finds nothing', async () => {
  const context = { input: { list: [{ n: 1 }, { n: 2 }], 'x-event': 'push' } };
  expect(await evaluate('$sum(input.list.n)', context)).toBe(3);
  expect(await evaluate('input.`x-event` = "push"', context)).toBe(true);
  expect(await evaluate('{"a": input.list[n > 1]}', context)).toEqual({ a: { n: 2 } });
  expect(await evaluate('input.list[n > 5]', context)).toBeUndefined();
});

it('passes on the messages of JSONata', async () => {
  await expect(evaluate('$number("x")')).rejects.toThrow(/number/);
});

describe('a machine that stands still', () => {
  it('takes no time from an expression that is answered', async () => {
    await evaluate('1');
    const requested = evaluate('1 + 1');
    standStill(1_500);
    expect(await requested).toBe(2);
  });

  it('nor from one that is being evaluated', async () => {
    await evaluate('1');
    const [child] = (await allProcesses()).filter(({ parent }) => parent === process.pid);
    const requested = evaluate('$sum([1..20000].($ * 2))', {}, 2_000);
    standStill(40);
    process.kill(child?.pid ?? 0, 'SIGSTOP');
    standStill(2_500);
    process.kill(child?.pid ?? 0, 'SIGCONT');
    expect(await requested).toBe(400_020_000);
  });
});

it.each([
  ['a recursion without end', '($f := function($n){ $f($n + 1) + 1 }; $f(1))'],
  ['a tail recursion without end', '($f := function($n){ $f($n + 1) }; $f(1))'],
  ['a sequence that is too long', '[1..10000000]'],
])('ends %s, and goes on with the next', async (_what, expression) => {
  expect(await faultOf(evaluate(expression, {}, 300))).toMatch(/timeout|failed|too_much_memory/);
  expect(await evaluate('1 + 1')).toBe(2);
});

it('ends what needs too much memory', async () => {
  const doubled = '($d := function($s, $n){ $n = 0 ? $s : $d($s & $s, $n - 1) }; $split($d("abcdefgh", 24), ""))';
  expect(await faultOf(evaluate(doubled, {}, 5_000))).toMatch(/timeout|failed|too_much_memory/);
  expect(await evaluate('1 + 1')).toBe(2);
});

it('refuses a context of more than a million values, which take far longer to send than their bytes', async () => {
  const list = new Array(1_000_000).fill(0);
  await expect(evaluate('$count(input)', { input: list })).rejects.toThrow(/more than 1000000 values/);
  expect(await evaluate('1 + 1')).toBe(2);
});

it('looks at what the iterations of a loop read one after another, when each has a process', async () => {
  let reads = 0;
  const item = Object.defineProperty({}, 'a', { enumerable: true, get: () => (reads += 1) });
  const ofWorkflow = expressions.of({ workflow_id: 'w', organization_id: 1 });
  const iterations = Array.from({ length: 20 }, () => ofWorkflow.evaluate('1', { item }));
  expect(reads).toBeLessThan(5);
  expect(await Promise.all(iterations)).toEqual(new Array(20).fill(1));
});

it('takes a context of 32 MiB, and refuses a larger one before it is sent', async () => {
  const context = (mebibytes: number) => ({
    steps: Array.from({ length: mebibytes }, () => 'a'.repeat(1024 * 1024 - 3)),
  });
  expect(await evaluate('$count(steps)', context(32), 20_000)).toBe(32);
  await expect(evaluate('$count(steps)', context(33), 20_000)).rejects.toThrow('what it reads is larger than 32 MiB');
});

it('runs patterns in linear time', async () => {
  expect(await evaluate('$match(text, /(a+)+$/).match', { text: `${'a'.repeat(50_000)}b` })).toBeUndefined();
  expect(await evaluate('$replace("a1b22", /[0-9]+/, "#")')).toBe('a#b#');
  expect(await evaluate('$match("ab12", /([a-z])([0-9])?/).groups', {})).toEqual(['a', '', 'b', '1']);
  expect(await evaluate('$split("a, b,c", /, ?/)')).toEqual(['a', 'b', 'c']);
  expect(await evaluate('$contains("ABC", /b/i)')).toBe(true);
  expect(await faultOf(evaluate('$contains("aa", /(a)\\1/)'))).toBe('failed');
});

describe('what is data stays data', () => {
  it.each(['$eval("1 + 1")', '$eval("$now()")'])('%s', async (expression) => {
    await expect(evaluate(expression)).rejects.toThrow('$eval is not available');
  });

  it.each(['__proto__', 'constructor', 'prototype'])('%s is no key', async (key) => {
    expect(await faultOf(evaluate(`{"a": {"${key}": {"x": 1}}}`))).toSatisfy(
      (answer: unknown) => answer === 'forbidden_key' || JSON.stringify(answer) === '{"value":{"a":{}}}',
    );
    expect(await evaluate(`input.${key}`, { input: {} })).toBeUndefined();
  });

  it('names of prototypes in content are data, and lead to no prototype', async () => {
    const content = JSON.parse('{"a":{"__proto__":{"x":1},"constructor":{"name":"c"},"prototype":"p"}}');
    expect(
      await evaluate('[a.x, a.hasOwnProperty, a.constructor.constructor, a.toString, a.__proto__.__proto__]', content),
    ).toEqual([]);
    expect(await evaluate('$merge([a, {"y": 2}]).x', content)).toBeUndefined();
    expect(await evaluate('$lookup(a, "constructor").prototype', content)).toBeUndefined();
    expect(await evaluate('a.constructor.name', content)).toBe('c');
    expect(await faultOf(evaluate('a', content))).toBe('forbidden_key');
    expect(await evaluate('({}).x', {})).toBeUndefined();
  });

  it.each(['process', 'require', 'globalThis', '$process', 'Function'])('%s is nothing', async (name) => {
    expect(await evaluate(name)).toBeUndefined();
  });

  it('functions do not leave', async () => {
    expect(await evaluate('{"f": function($x){$x}, "n": 1}')).toEqual({ n: 1 });
  });
});

it('holds results to 1 MiB, on both sides', async () => {
  const text = (length: number) => evaluate('$pad("", n, "x")', { n: length }, 900);
  expect(String(await text(1024 * 1024 - 2))).toHaveLength(1024 * 1024 - 2);
  expect(await faultOf(text(1024 * 1024 - 1))).toBe('result_too_large');
});

it('holds results to 200 levels', async () => {
  const nested = (levels: number) =>
    evaluate('$reduce([1..n], function($inner, $at){ {"a": $inner} }, 1)', { n: levels }, 5_000);
  expect(await nested(199)).toMatchObject({ a: { a: { a: {} } } });
  expect(await faultOf(nested(250))).toBe('result_too_large');
  expect(['result_too_large', 'failed']).toContain(await faultOf(nested(10_000)));
});

it('refuses contexts that are nested too deep to be sent, those that have waited as well', async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
  const requested = Array.from({ length: 6 }, () => faultOf(evaluate('$count(**)', { deep })));
  expect(await Promise.all(requested)).toEqual(requested.map(() => 'failed'));
  expect(await evaluate('1 + 1')).toBe(2);
});

it('an evaluation that is not wanted any more ends', async () => {
  const stop = new AbortController();
  const requested = expressions.evaluate(
    '($f := function($n){ $f($n + 1) }; $f(1))',
    {},
    { timeout: 30_000, signal: stop.signal },
  );
  stop.abort(new Error('stop'));
  await expect(requested).rejects.toThrow('stop');
  expect(await evaluate('2')).toBe(2);
});

describe('JSON Schema', () => {
  const schema = { type: 'object', required: ['title'], properties: { title: { type: 'string', maxLength: 3 } } };

  it('reports each error with its field', async () => {
    expect(await expressions.validate(schema, { title: 'abc' })).toEqual([]);
    expect((await expressions.validate(schema, { title: 'abcd' })).map(({ field }) => field)).toContain('/title');
    expect(await expressions.validate(schema, {})).not.toEqual([]);
  });

  it('a pattern that would never end is ended', async () => {
    const bad = { type: 'string', pattern: '^(a+)+$' };
    expect(await faultOf(expressions.validate(bad, `${'a'.repeat(60)}b`))).toBe('timeout');
    expect(await expressions.validate(bad, 'aa')).toEqual([]);
  });
});

describe('several workflows', () => {
  const endless = '($f := function($n){ $f($n + 1) }; $f(1))';
  const organization_id = 1;
  let shared: Expressions;
  beforeAll(() => {
    shared = createExpressions();
  });
  afterAll(() => shared.close());

  it('do not wait for the slow expressions of one, nor of one organization', async () => {
    const controller = new AbortController();
    const slow = ['a', 'b', 'c'].flatMap((workflow_id) =>
      Array.from({ length: 5 }, () =>
        shared
          .of({ workflow_id, organization_id })
          .evaluate(endless, {}, { timeout: 60_000, signal: controller.signal })
          .catch(() => 'slow'),
      ),
    );
    const quick = shared.of({ workflow_id: 'd', organization_id: 2 }).evaluate('1 + 1', {});
    expect(await Promise.race([quick, ...slow])).toBe(2);
    controller.abort();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['slow']));
    expect(await shared.of({ workflow_id: 'e', organization_id }).evaluate('1 + 1', {})).toBe(2);
  });
});
