import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DiffLine, pairLines, readPatch, sharedEnds } from '../../src/dashboard/parts/unified-diff.ts';
import fc from '../support/properties.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'portico-patch-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** As git writes it, with all lines of both files as context. */
function patchOf(before: string, after: string): string {
  writeFileSync(path.join(directory, 'before'), before);
  writeFileSync(path.join(directory, 'after'), after);
  const options = ['-c', 'core.autocrlf=false', 'diff', '--no-index', '--text', '-U100', 'before', 'after'];
  const env = { PATH: process.env.PATH, HOME: directory, LC_ALL: 'C' };
  return spawnSync('git', options, { cwd: directory, env, encoding: 'utf8' }).stdout;
}

/** One side of what was read, as a file. */
const sideOf = (lines: readonly DiffLine[], other: DiffLine['kind']) =>
  lines
    .filter(({ kind }) => kind !== other)
    .map(({ text, isUnended }) => (isUnended ? text : `${text}\n`))
    .join('');

/** Lines that look like parts of a patch are among them. */
const line = fc.constantFrom('one', 'two', '', ' ', '-', '+', '--- a', '+++ b', '@@ -1 +1 @@', '\\ No newline', 'é\r');
const file = fc
  .tuple(fc.array(line, { maxLength: 8 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join('\n') + (isEnded && lines.length > 0 ? '\n' : ''));

describe('readPatch()', () => {
  it('gives back both files of a patch of git, whose lines have their numbers', () => {
    fc.assert(
      fc.property(file, file, (before, after) => {
        fc.pre(before !== after);
        const hunks = readPatch(patchOf(before, after));
        expect(hunks).toHaveLength(1);
        const lines = hunks[0]?.lines ?? [];
        expect(sideOf(lines, 'added')).toBe(before);
        expect(sideOf(lines, 'removed')).toBe(after);
        const numbers = (side: 'before' | 'after') => lines.map((one) => one[side]).filter((number) => number !== null);
        for (const side of ['before', 'after'] as const)
          expect(numbers(side)).toEqual(numbers(side).map((_, at) => at + 1));
      }),
      { numRuns: 40 },
    );
  });

  it('has the heading of each hunk, and begins its numbers anew', () => {
    const hunks = readPatch('--- a/x\n+++ b/x\n@@ -3 +3,2 @@ # Frost\n-a\n+b\n+c\n@@ -90,0 +92 @@\n+d\n');
    expect(hunks.map(({ heading }) => heading)).toEqual(['# Frost', '']);
    expect(hunks[1]?.lines).toEqual([{ kind: 'added', before: null, after: 92, text: 'd', isUnended: false }]);
  });

  it('has no hunk of a patch without one', () => {
    expect(readPatch('')).toEqual([]);
    expect(readPatch('diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n')).toEqual([]);
  });
});

describe('pairLines()', () => {
  it('keeps each line once, in the order of its side', () => {
    const kinds = fc.array(fc.constantFrom<DiffLine['kind']>('same', 'added', 'removed'), { maxLength: 12 });
    fc.assert(
      fc.property(kinds, (chosen) => {
        const lines = chosen.map((kind, at): DiffLine => {
          const number = { before: kind === 'added' ? null : at, after: kind === 'removed' ? null : at };
          return { kind, ...number, text: String(at), isUnended: false };
        });
        const pairs = pairLines(lines);
        expect(pairs.flatMap(([before]) => before ?? [])).toEqual(lines.filter(({ kind }) => kind !== 'added'));
        expect(pairs.flatMap(([, after]) => after ?? [])).toEqual(lines.filter(({ kind }) => kind !== 'removed'));
        for (const [before, after] of pairs) if (before?.kind === 'same') expect(after).toBe(before);
      }),
    );
  });

  it('puts what was removed beside what came in its place', () => {
    const [hunk] = readPatch('@@ -1,3 +1,3 @@\n-a\n-b\n+A\n c\n+d\n');
    expect(pairLines(hunk?.lines ?? []).map((pair) => pair.map((one) => one?.text ?? null))).toEqual([
      ['a', 'A'],
      ['b', null],
      ['c', 'c'],
      [null, 'd'],
    ]);
  });
});

describe('sharedEnds()', () => {
  it('names ends that both texts have, which do not overlap, and beyond which they differ', () => {
    const text = fc.array(fc.constantFrom('a', 'b', '😀', '😁', '\ud83d'), { maxLength: 8 }).map((all) => all.join(''));
    fc.assert(
      fc.property(text, text, (one, other) => {
        const { start, end } = sharedEnds(one, other);
        expect(start + end).toBeLessThanOrEqual(Math.min(one.length, other.length));
        expect(one.slice(0, start)).toBe(other.slice(0, start));
        expect(one.slice(one.length - end)).toBe(other.slice(other.length - end));
        const [rest, otherRest] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
        if (rest !== '' && otherRest !== '') expect([...rest][0]).not.toBe([...otherRest][0]);
      }),
    );
  });

  it('divides no character of two UTF-16 units', () => {
    expect(sharedEnds('a😀b', 'a😁b')).toEqual({ start: 1, end: 1 });
  });
});
