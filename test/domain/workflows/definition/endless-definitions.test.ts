import { describe, expect, it } from 'vitest';
import { read, withSteps } from '../../../support/workflows/definitions.ts';

describe('what would be endless, or nearly', () => {
  it.each([
    [
      '10,000 steps',
      withSteps(Array.from({ length: 10_000 }, (_, n) => `- {id: s${n}, type: fail}`).join('\n')),
      /^too_many_steps$/,
    ],
    ['10,000 unknown steps', withSteps('- {type: x}\n'.repeat(10_000)), /^invalid_value$/],
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
    ['1,000 aliases of a long text', `a: &a ${'x'.repeat(100_000)}\nlist: [${'*a,'.repeat(1_000)}1]`, /^syntax$/],
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
