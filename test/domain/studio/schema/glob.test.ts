import { describe, expect, it } from 'vitest';
import { compileGlob, Steps } from '../../../../src/domain/studio/schema/glob.ts';
import fc from '../../../support/properties.ts';

const matches = (pattern: string, path: string) => compileGlob(pattern)?.matches(path);

describe('globs', () => {
  const cases: [string, string[], string[]][] = [
    ['**/*.md', ['a.md', 'a/b/c.md'], ['a.mdx', '.hidden/a.md', 'a/.b.md']],
    ['*.md', ['a.md'], ['a/b.md']],
    ['./blog/**/*.{md,mdx}', ['blog/a.md', 'blog/x/y.mdx'], ['a.md', 'blog/a.txt']],
    ['**/[^_]*.md', ['a.md', 'x/b.md'], ['_a.md', 'x/_b.md']],
    ['[a-c]?.md', ['ax.md', 'cz.md'], ['dx.md', 'a.md']],
    ['a/**', ['a/b', 'a/b/c'], ['b/a']],
    ['{a,{b,c}/d}.md', ['a.md', 'b/d.md', 'c/d.md'], ['b.md']],
    ['*.@(md|mdx)', ['a.md', 'a.mdx'], ['a.txt']],
    ['.hidden/*.md', ['.hidden/a.md'], ['hidden/a.md']],
    ['a\\*.md', ['a*.md'], ['ab.md']],
  ];
  it.each(cases)('%s', (pattern, yes, no) => {
    expect(yes.map((path) => [path, matches(pattern, path)])).toEqual(yes.map((path) => [path, true]));
    expect(no.map((path) => [path, matches(pattern, path)])).toEqual(no.map((path) => [path, false]));
  });

  it('does not guess at what it does not know', () => {
    // Few enough alternatives, and longer ones together than are compared with a path.
    const many = `{*,*a}{*,*a}{*,*a}{*,*a}{*,*a}/*${'a'.repeat(200)}b*`;
    expect(['!(a)', '+(a|b).md', '[a', '{a', '../x/*.md', '{a,b}'.repeat(20), many].map(compileGlob)).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
      null,
    ]);
  });

  it('takes its steps from a budget, and matches nothing beyond it', () => {
    const [glob, path] = [compileGlob('x/*a*b.{md,mdx}'), 'x/aaaab.md'];
    const counted = new Steps(1_000);
    expect(glob?.matches(path, counted)).toBe(true);
    const needed = 1_000 - counted.left;
    const [enough, less] = [new Steps(needed), new Steps(needed - 1)];
    expect([glob?.matches(path, enough), enough.isOver]).toEqual([true, false]);
    expect([glob?.matches(path, less), less.isOver]).toEqual([false, true]);
  });

  it('ends a comparison that takes a step for each character of all alternatives and of the path', () => {
    const ends = Array.from({ length: 100 }, (_, at) => `b${at + 100}`).join(',');
    const [path, steps] = [`${'a'.repeat(200)}b199`, new Steps()];
    const costly = compileGlob(`*${'a'.repeat(12)}{${ends}}*`);
    expect(costly?.matches(path, steps)).toBe(false);
    expect(steps.isOver).toBe(true);
    // What its first alternatives find is found.
    expect(costly?.matches(`${'a'.repeat(200)}b100`)).toBe(true);
  });

  it('finds the directory before the first wildcard', () => {
    expect(
      ['src/blog/**/*.md', '*.md', 'a/{b,c}/*.md', 'a/b.md'].map((pattern) => compileGlob(pattern)?.prefix),
    ).toEqual(['src/blog', '', 'a', 'a']);
  });

  it('agrees with the path matcher of Node on plain patterns', async () => {
    const { matchesGlob } = await import('node:path');
    const part = fc.constantFrom('a', 'b', 'ab', '*', '?', 'a*b', '**');
    const name = fc.constantFrom('a', 'b', 'ab', 'aab', 'c');
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        fc.array(name, { minLength: 1, maxLength: 4 }),
        (parts, names) => {
          // A final `**` also matches its own directory in Node, which is no file here.
          const pattern = `${parts.join('/')}/*`;
          expect(matches(pattern, names.join('/'))).toBe(matchesGlob(names.join('/'), pattern));
        },
      ),
    );
  });

  it('finds a name in any directory as the longer way does', () => {
    const part = fc.constantFrom('a', '.a', 'a.md', '.md', '_a.md', 'b.mdx', 'aab');
    const name = fc.constantFrom('*.md', '[^_]*.{md,mdx}', '?', '*', '.*', 'a*b', '.md');
    fc.assert(
      fc.property(name, fc.array(part, { minLength: 1, maxLength: 4 }), (pattern, parts) => {
        const path = parts.join('/');
        expect(matches(`**/${pattern}`, path)).toBe(matches(`**/**/${pattern}`, path));
      }),
      { numRuns: 1000 },
    );
  });

  it('takes linear time where a backtracking matcher would not', () => {
    expect(matches(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false);
    expect(matches(`${'**/'.repeat(100)}b`, 'a/'.repeat(2000))).toBe(false);
  });
});
