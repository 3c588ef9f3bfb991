import { readdir, readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { foldText } from '../../src/domain/studio/frontmatter/words.ts';
import { checkPath } from '../../src/domain/studio/path-rules.ts';
import { outputPages } from '../../src/domain/studio/routes/published-pages.ts';
import { comparableText, foldCase, literally, normalized } from '../../src/lib/text.ts';
import fc from '../support/properties.ts';

afterEach(() => void vi.restoreAllMocks());

const forms = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const;
/** Marks of classes that are put in order, and one whose class is none. */
const signs = ['\u0301', '\u0323', '\u05b0', '\u3099', '\uff9e', '\u0344', '\u0bbe', '\u{1d165}', '\u034f'];
const letters = ['a', 'é', 'ß', '가', '\u1100', '\u1161', '\u11a8', 'か', '\u0bc6', 'ﬁ', '\u0e33', '\ud800', '/', ' '];
const some = fc.array(fc.oneof(fc.constantFrom(...letters), fc.constantFrom(...signs), fc.string({ unit: 'binary' })));
const run = (of: string, length: number) => of.repeat(length).slice(0, length);

/** The longest run of marks that was normalised while something was done. */
async function longestDuring(work: () => unknown): Promise<number> {
  const normalize = vi.spyOn(String.prototype, 'normalize');
  await work();
  const texts = normalize.mock.contexts.flatMap((text) => String(text).match(/[\p{M}\uff9e\uff9f]+/gu) ?? []);
  return Math.max(0, ...texts.map((text) => text.length));
}

describe('a text is normalised', () => {
  it('as the language does it, with up to 128 marks in a row', () => {
    fc.assert(
      fc.property(some, fc.nat({ max: 128 }), fc.constantFrom(...forms), (parts, length, form) => {
        const text = `${parts.join('')}a${run('\u0301\u0323', length)}b${parts.join('')}`;
        fc.pre(!/[\p{M}\uff9e\uff9f]{129}/u.test(text));
        expect(normalized(text, form)).toBe(text.normalize(form));
      }),
    );
  });

  it('the same around longer runs, of which nothing is lost', () => {
    fc.assert(
      fc.property(some, some, fc.constantFrom(...forms), (before, after, form) => {
        const [start, end] = [`${before.join('')}-`, `-${after.join('')}`];
        const marks = run('\u0301\u0323', 1_000);
        const made = normalized(`${start}${marks}${end}`, form);
        expect(made.startsWith(start.normalize(form))).toBe(true);
        expect(made.endsWith(end.normalize(form))).toBe(true);
        expect(made.normalize('NFD')).toBe(`${start}${marks}${end}`.normalize(form).normalize('NFD'));
      }),
      { numRuns: 50 },
    );
  });

  const long = `a${run('\u0301\u0323', 20_000)}`;

  it.each<[string, () => unknown]>([
    ['a path that is given', () => expect(() => checkPath('path', long)).toThrow('bytes long')],
    ['what is searched', () => expect(foldText(long)).toBe('a')],
    ['what a page is compared by', () => comparableText(long)],
    ['the pages of an output', () => outputPages([`${long}.html`], '')],
    ['sound marks of Japanese', () => normalized(run('\uff9e\u0301', 20_000), 'NFKD')],
  ])('in pieces of few marks: %s', async (_what, work) => {
    expect(await longestDuring(work)).toBeLessThanOrEqual(128);
  });

  it('by normalized() wherever it can be long', async () => {
    const root = new URL('../../src/', import.meta.url);
    const files = (await readdir(root, { recursive: true })).filter((file) => /\.tsx?$/.test(file));
    const own: string[] = [];
    for (const file of files) {
      const text = await readFile(new URL(file, root), 'utf8');
      if (/\.normalize\('NF/.test(text) && !file.startsWith('dashboard/')) own.push(file);
    }
    // A password has at most 256 characters, and what is made of it is stored; Hexo replaces one letter at a time.
    expect(own.sort()).toEqual(['domain/studio/frameworks/hexo/routes.ts', 'domain/users/passwords.ts']);
  });
});

describe('the folded form of a name', () => {
  /** Every character that has another case or normal form. */
  const characters = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((one) => new Set([one, one.toLowerCase(), one.toUpperCase(), one.normalize()]).size > 1);

  it('makes no call for a letter, whatever letters a name is made of', () => {
    const calls = [vi.spyOn(String.prototype, 'toUpperCase'), vi.spyOn(String.prototype, 'toLowerCase')];
    expect(foldCase('ὀδυσσεύς')).toBe(foldCase('ὀδυσσεύσ'));
    expect(foldCase('Ελλάδα ßſµẖᾷ'.repeat(20))).toBe('ελλάδα sssμẖᾶι'.repeat(20).normalize());
    expect(calls.map((call) => call.mock.calls.length)).toEqual([0, 3]);
  });

  it('is what full case folding makes of each letter', () => {
    const plain = (name: string) => {
      const letters = [...normalized(name).toLowerCase()];
      return normalized(letters.map((one) => (one === '\u0131' ? one : one.toUpperCase().toLowerCase())).join(''));
    };
    const wrong = characters.filter((one) =>
      [one, `a${one}Σ`, `Σ${one}`].some((each) => foldCase(each) !== plain(each)),
    );
    expect(wrong).toEqual([]);
    const unit = fc.oneof(fc.constantFrom(...characters), fc.constantFrom(...'aI1ßſςσΣ\u0130\u0131\u0301\u0345\ud800'));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (name) => {
        expect(foldCase(name)).toBe(plain(name));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['ὈΔΥΣΣΕΎΣ', 'ὀδυσσεύς'],
    ['Σ.md', 'ς.md'],
    ['ſx', 'Sx'],
    ['straße', 'STRASSE'],
    ['STRAẞE', 'strasse'],
    ['\ufb01n', 'FIN'],
    ['\u212a', 'k'],
    ['\u0130', 'i\u0307'],
    ['\u0390', '\u03aa\u0301'],
    ['\u1fb3', 'ΑΙ'],
    ['Cafe\u0301', 'CAFÉ'],
  ])('%s is that of %s', (one, other) => {
    expect(foldCase(one)).toBe(foldCase(other));
  });

  it.each([
    ['\u0131', 'i'],
    ['\u0131', 'I'],
    ['\u0130', 'I'],
    ['\u0130', 'i'],
    ['é', 'e'],
    ['ä', 'ae'],
    ['ø', 'o'],
    ['ss', 's'],
  ])('%s is not that of %s', (one, other) => {
    expect(foldCase(one)).not.toBe(foldCase(other));
  });

  it('of one character is that of another where they differ in case or normal form alone', () => {
    const wrong: string[] = [];
    for (const [, [first = '', ...rest]] of Map.groupBy(characters, foldCase))
      for (const other of rest) {
        // Simple case folding is the rule of `iu`.
        const pattern = new RegExp(`^${literally(first.normalize())}$`, 'iu');
        if (!pattern.test(other.normalize())) wrong.push(`${first} ${other}`);
      }
    for (const one of characters.filter((each) => each !== '\u0131'))
      for (const other of [one.toLowerCase(), one.toUpperCase(), one.normalize(), foldCase(one)])
        if (foldCase(other) !== foldCase(one)) wrong.push(`${one} ${other}`);
    expect(characters.length).toBeGreaterThan(2_500);
    expect(wrong).toEqual([]);
  });
});
