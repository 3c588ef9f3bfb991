import { describe, expect, it, vi } from 'vitest';
import { Parser } from 'yaml';
import { readDefinition } from '../../../../src/domain/workflows/definition/read-definition.ts';
import { stepOperationsOf } from '../../../../src/domain/workflows/step-operations.ts';
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
  const anchors = (count: number) =>
    withSteps(
      '  - {id: a, type: fail}',
      `variables:\n  list: [${Array.from({ length: count }, (_, n) => `&a${n} 1`).join(', ')}]\n`,
    );
  const comments = (count: number) => `${'#\n'.repeat(count)}${withSteps('  - {id: a, type: fail}')}`;
  const aliases = (count: number) =>
    withSteps('  - {id: a, type: fail}', `variables:\n  a: &a 1\n  list: [${Array(count).fill('*a').join(', ')}]\n`);

  it.each([
    ['steps', many(500), many(501), 'too_many_steps'],
    ['nesting', deep(8), deep(9), 'too_deep'],
    ['levels of a value', nested(198), nested(199), 'syntax'],
    ['values', values(32_000), values(32_001), 'syntax'],
    ['anchors', anchors(2_000), anchors(2_001), 'syntax'],
    ['comments', comments(64_900), comments(65_000), 'syntax'],
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

  it.each([
    ['brackets', '['.repeat(200_000), 'is nested more than 200 levels deep'],
    ['braces', '{'.repeat(200_000), 'is nested more than 200 levels deep'],
    ['lists in blocks', '- '.repeat(100_000), 'is nested more than 200 levels deep'],
    ['keys without names', '? '.repeat(100_000), 'is nested more than 200 levels deep'],
    ['anchors of one value', '&a '.repeat(80_000), 'holds more than 2000 anchors and tags'],
    ['tags of one value', '!a '.repeat(80_000), 'holds more than 2000 anchors and tags'],
    ['empty lines', '\n'.repeat(200_000), 'holds more than 130000 words and marks of YAML'],
  ])('reads no further than where %s go beyond the limits', async (_what, source, message) => {
    const next = vi.spyOn(Parser.prototype, 'next');
    expect((await read(source)).errors).toMatchObject([{ code: 'syntax', message }]);
    expect(next.mock.calls.length).toBeLessThan(270_000);
    if (!message.includes('130000')) expect(next.mock.calls.length).toBeLessThan(7_000);
    next.mockRestore();
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

describe('an object as a definition', () => {
  it('is read no further than the text of it could be long', async () => {
    let reads = 0;
    const list = Array.from({ length: 100_000 }, () => ({}));
    for (const [at] of list.entries())
      Object.defineProperty(list, at, {
        get: () => {
          reads += 1;
          return 0;
        },
      });
    const { errors } = await readDefinition({ portico: 'workflow/1', variables: { list } }, stepOperationsOf([]));
    expect(errors).toMatchObject([{ code: 'syntax', message: 'is longer than 262144 bytes', line: 1, column: 1 }]);
    expect(reads).toBeLessThan(40_000);
  });

  it.each([
    ['by its values', { a: Array.from({ length: 33_000 }, () => 1) }],
    ['by a name', { ['k'.repeat(262_144)]: 1 }],
    ['by a string', { a: 'v'.repeat(262_144) }],
    ['by characters of several bytes', { a: '漢'.repeat(90_000) }],
  ])('is too long %s', async (_how, variables) => {
    const { errors } = await readDefinition({ portico: 'workflow/1', variables }, stepOperationsOf([]));
    expect(errors).toMatchObject([{ message: 'is longer than 262144 bytes' }]);
  });

  it('may be as long as a text', async () => {
    const without = { portico: 'workflow/1', variables: { a: '' }, steps: [{ id: 'a', type: 'fail' }] };
    const room = 262_144 - JSON.stringify(without, null, 2).length;
    const ofLength = (length: number) => ({ ...without, variables: { a: 'v'.repeat(length) } });
    expect((await readDefinition(ofLength(room), stepOperationsOf([]))).errors).toEqual([]);
    expect((await readDefinition(ofLength(room + 1), stepOperationsOf([]))).errors).toHaveLength(1);
  });
});
