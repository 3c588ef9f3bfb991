import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hunksOf, joinPieces, mergeText } from '../../../../src/domain/studio/merge/diff3.ts';
import fc from '../../../support/properties.ts';
import { edit, paragraphs } from './texts.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'portico-diff3-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What `git merge-file` makes of it; null when it reports conflicts. */
function gitMerge(base: string, current: string, incoming: string): string | null {
  const files = Object.entries({ current, base, incoming }).map(([name, text]) => {
    const file = path.join(directory, name);
    writeFileSync(file, text);
    return file;
  });
  const { status, stdout, error } = spawnSync('git', ['merge-file', '-p', '-q', ...files], { encoding: 'utf8' });
  if (error || status === null) throw new Error('git merge-file did not run', { cause: error });
  return status === 0 ? stdout : null;
}

function ourMerge(base: string, current: string, incoming: string): string | null {
  const pieces = mergeText(base, current, incoming);
  return hunksOf(pieces).length === 0 ? joinPieces(pieces, () => '') : null;
}

const fewLines = (unit: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(unit, { maxLength }).map((lines) => lines.map((line) => `${line}\n`).join(''));
const ending = fc.constantFrom('', '', 'end', 'a');
const small = fc.tuple(fewLines(fc.constantFrom('a', 'b', 'c', ''), 14), ending).map(([lines, end]) => lines + end);

describe('against git merge-file', () => {
  it('agrees on three unrelated texts of few lines', () => {
    fc.assert(
      fc.property(small, small, small, (base, current, incoming) => {
        expect(ourMerge(base, current, incoming)).toBe(gitMerge(base, current, incoming));
      }),
      { numRuns: Number(process.env.RUNS ?? 150) },
    );
  });

  it('agrees on two edits of one text', () => {
    const base = fewLines(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', '', ''), 40);
    fc.assert(
      fc.property(
        base.chain((text) => fc.tuple(fc.constant(text), edit(text), edit(text))),
        ([text, current, incoming]) => {
          expect(ourMerge(text, current, incoming)).toBe(gitMerge(text, current, incoming));
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 150) },
    );
  });

  it('agrees on edits of prose', () => {
    let clean = 0;
    fc.assert(
      fc.property(
        paragraphs.chain((text) => fc.tuple(fc.constant(text), edit(text), edit(text))),
        ([text, current, incoming]) => {
          const ours = ourMerge(text, current, incoming);
          if (ours !== null) clean++;
          expect(ours).toBe(gitMerge(text, current, incoming));
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 150) },
    );
    expect(clean).toBeGreaterThan(50);
  });
});

describe('hunks', () => {
  const merged = (...texts: [string | null, string, string]) => mergeText(...texts);

  it('says what each side has, and where it begins in current', () => {
    expect(merged('a\nb\nc\nd\n', '0\na\nB\nc\nd\n', 'a\nbb\nc\nD\n')).toEqual([
      '0\n',
      'a\n',
      { id: '1', base: 'b\n', current: 'B\n', incoming: 'bb\n', line: 3 },
      'c\n',
      'D\n',
    ]);
  });

  it('gives back each side whole when it is taken throughout', () => {
    fc.assert(
      fc.property(
        small.chain((text) => fc.tuple(fc.constant(text), edit(text), edit(text))),
        ([base, current, incoming]) => {
          const pieces = mergeText(null, current, incoming);
          expect(joinPieces(pieces, (hunk) => hunk.current)).toBe(current);
          expect(joinPieces(pieces, (hunk) => hunk.incoming)).toBe(incoming);
          for (const hunk of hunksOf(mergeText(base, current, incoming))) {
            expect(
              current
                .split('\n')
                .slice(hunk.line - 1)
                .join('\n')
                .startsWith(hunk.current),
            ).toBe(true);
            expect(base).toContain(hunk.base);
          }
        },
      ),
    );
  });

  it('is symmetric in where it clashes', () => {
    fc.assert(
      fc.property(small, small, small, (base, current, incoming) => {
        const there = hunksOf(mergeText(base, current, incoming));
        const back = hunksOf(mergeText(base, incoming, current));
        expect(there.map((hunk) => [hunk.base, hunk.current, hunk.incoming])).toEqual(
          back.map((hunk) => [hunk.base, hunk.incoming, hunk.current]),
        );
      }),
    );
  });

  it('without a base lets only equal lines pass', () => {
    expect(merged(null, 'a\nb\n', 'a\nc\n')).toEqual([
      'a\n',
      { id: '1', base: null, current: 'b\n', incoming: 'c\n', line: 2 },
    ]);
    expect(merged(null, 'a\n', 'a\n')).toEqual(['a\n']);
  });
});

describe('bounds', () => {
  const lines = (count: number, line: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('');
  const random = (seed: number, kinds: number) => {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return String(Math.floor((state / 2 ** 32) * kinds));
    };
  };

  it.each([2, 50, 1000])('ends soon on 10,000 lines of %i kinds that have nothing to do with one another', (kinds) => {
    const [base, current, incoming] = [1, 2, 3].map((seed) => lines(10_000, random(seed, kinds)));
    const pieces = mergeText(base as string, current as string, incoming as string); // quadratic time would not end within the limit
    expect(joinPieces(pieces, (hunk) => hunk.current).length).toBeGreaterThan(0);
  });

  it('ends soon on 100,000 lines, giving up on small pieces', () => {
    const [base, current, incoming] = [1, 2, 3].map((seed) => lines(100_000, random(seed, 2))) as [
      string,
      string,
      string,
    ];
    expect(joinPieces(mergeText(null, current, incoming), (hunk) => hunk.incoming) === incoming).toBe(true);
    expect(hunksOf(mergeText(base, current, incoming)).length).toBeGreaterThan(0);
  });

  it('ends soon on a line repeated 50,000 times', () => {
    const same = lines(49_999, () => 'x');
    const pieces = mergeText(same, `${same}y\n${same}`, `y\n${same}`);
    expect(joinPieces(pieces, (hunk) => hunk.current)).toContain('y');
    expect(hunksOf(pieces)).toEqual([]);
  });

  it('compares texts of up to 100,000 lines, and longer ones as a whole', () => {
    const base = lines(100_000, (at) => `${at}`);
    const [current, incoming] = [base.replace('0\n', 'first\n'), `${base.slice(0, -'99999\n'.length)}last`];
    expect(mergeText(base, current, incoming).join('')).toBe(`${current.slice(0, -'99999\n'.length)}last`);
    const longer = (text: string) => `${text.slice(0, 30)}\n${text.slice(30)}`;
    for (const texts of [
      [longer(base), current, incoming],
      [base, longer(current), incoming],
      [base, current, longer(incoming)],
      [null, longer(current), incoming],
    ] as const) {
      const [was, ours, theirs] = texts;
      expect(mergeText(was, ours, theirs)).toEqual([{ id: '1', base: was, current: ours, incoming: theirs, line: 1 }]);
    }
  });
});
