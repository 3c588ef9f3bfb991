import { describe, expect, it } from 'vitest';
import { faults, read, withSteps } from '../../../support/workflows/definitions.ts';

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
