import { expect, it, vi } from 'vitest';
import { finish } from '../../src/lib/concurrency.ts';
import { Replacer } from '../../src/lib/redaction/replacer.ts';
import { literally } from '../../src/lib/text.ts';
import fc from '../support/properties.ts';

const marked = (text: string) => `<${text.toUpperCase()}>`;
const replacerOf = (texts: readonly string[]) =>
  finish(Replacer.of(() => texts.map((text) => [text, marked(text)] as const)));
const replace = (text: string, texts: readonly string[]) => finish(replacerOf(texts).replace(text));

/** The same by a pattern, which takes time and room for long texts that it does not have for short ones. */
function byPattern(text: string, texts: readonly string[]): string {
  const longestFirst = texts.toSorted((a, b) => b.length - a.length);
  return text.replace(new RegExp(longestFirst.map(literally).join('|'), 'gi'), marked);
}

it.each(['a', 'aAb', 'abc', 'ab\0', 'σςΣa', 'iİıI', 'éÉe', 'µμΜ', '\ud83d\ude00\ude01', '.*\\'])(
  'replaces the longest of several texts of %j at each place, from the beginning on, as a pattern does',
  (letters) => {
    const unit = fc.constantFrom(...letters);
    const word = fc.string({ unit, minLength: 1, maxLength: 12 });
    const run = fc.tuple(unit, fc.integer({ min: 1, max: 40 })).map(([letter, times]) => letter.repeat(times));
    const texts = fc.array(
      fc.oneof(
        word,
        run,
        fc.tuple(run, word).map((both) => both.join('')),
      ),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    fc.assert(
      fc.property(texts, fc.array(fc.oneof(word, run, fc.nat(11)), { maxLength: 12 }), (some, parts) => {
        const text = parts.map((part) => (typeof part === 'number' ? some[part % some.length] : part)).join('');
        expect(replace(text, some)).toBe(byPattern(text, some));
      }),
      { numRuns: 300 },
    );
  },
);

it('takes for equal what patterns do, of all units', () => {
  const units = Array.from({ length: 0x1_0000 }, (_, unit) => String.fromCharCode(unit));
  const others = units.filter((unit) => unit.toUpperCase() !== unit || unit.toLowerCase() !== unit);
  for (const unit of others.filter((_, at) => at % 16 === 0))
    expect(replace(units.join(''), [unit])).toBe(units.join('').replace(new RegExp(unit, 'gi'), marked(unit)));
});

it('gives each of many texts its own replacement, the last one of equal ones', () => {
  const texts = Array.from({ length: 5_000 }, (_, at) => 'x'.repeat(at % 70) + at);
  const replacer = finish(
    Replacer.of(() => [...texts, ...texts].map((text, at) => [text, `(${at - 5_000})`] as const)),
  );
  expect(replacer.longest).toBe(73);
  expect(finish(replacer.replace(` ${texts.join(' ')} `))).toBe(` ${texts.map((_, at) => `(${at})`).join(' ')} `);
  const cased = finish(
    Replacer.of(() => [
      ['key', 'first'],
      ['KEY', 'second'],
    ]),
  );
  expect(finish(cased.replace('Key'))).toBe('second');
});

it('replaces nothing without texts', () => {
  expect(replace('text', [])).toBe('text');
  expect(replacerOf([]).longest).toBe(0);
});

/** How often a unit of any text is looked at meanwhile. */
function looksDuring(work: () => void): number {
  const real = String.prototype.charCodeAt;
  let looks = 0;
  const spy = vi.spyOn(String.prototype, 'charCodeAt').mockImplementation(function (this: string, at) {
    looks += 1;
    return real.call(this, at);
  });
  try {
    work();
  } finally {
    spy.mockRestore();
  }
  return looks;
}

it.each([
  ['begins as what is searched does', [`${'a'.repeat(10)}b${'a'.repeat(2_000)}`]],
  ['ends otherwise', [`${'a'.repeat(2_000)}b`]],
  ['are many that begin alike', Array.from({ length: 40 }, (_, at) => `${'a'.repeat(50 * at + 1)}b`)],
])('looks at each unit a few times, whatever the texts are: one that %s', (_what, texts) => {
  const replacer = replacerOf(texts);
  const text = 'a'.repeat(40_000);
  expect(looksDuring(() => finish(replacer.replace(text)))).toBeLessThanOrEqual(2 * text.length);
  const units = texts.reduce((sum, { length }) => sum + length, 0);
  expect(looksDuring(() => replacerOf(texts))).toBeLessThanOrEqual(2 * units);
});

it('pauses often in a long text, and while it is made of long ones', () => {
  const count = (steps: Generator<undefined>) => {
    let pauses = 0;
    while (!steps.next().done) pauses += 1;
    return pauses;
  };
  const text = 'x'.repeat(1_000_000);
  expect(count(replacerOf(['xy']).replace(text) as Generator<undefined>)).toBeGreaterThan(50);
  const long = Array.from({ length: 60 }, (_, at) => `${at}${'x'.repeat(20_000)}`);
  expect(count(Replacer.of(() => long.map((one) => [one, ''] as const)) as Generator<never>)).toBe(120);
});
