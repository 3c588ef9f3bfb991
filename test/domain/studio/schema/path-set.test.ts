import { expect, it } from 'vitest';
import { membership, type PathSet, placing } from '../../../../src/domain/studio/schema/path-set.ts';
import { tally } from '../../../../src/ports/tally.ts';
import fc from '../../../support/properties.ts';

const directory = fc.constantFrom('', 'a', 'a/b', 'a/b/a', 'b');
const extension = fc.constantFrom('md', 'json', '');
const path = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', '_c', 'node_modules'), { maxLength: 4 }),
    fc.constantFrom('index', 'a', '2020-01-01-a'),
    extension,
  )
  .map(([parts, stem, end]) => [...parts, end === '' ? stem : `${stem}.${end}`].join('/'));
const pattern = fc.constantFrom(
  '*',
  '**/*.md',
  'a/*.md',
  './a/./b/**',
  '{a,b}/*.json',
  'a/b/index.md',
  '[',
  '../a/*',
  'b//a/*',
);
const depth = fc.integer({ min: 1, max: 4 });

const simple: fc.Arbitrary<PathSet> = fc.oneof(
  fc.record({ kind: fc.constant('listed' as const), paths: fc.array(path, { maxLength: 3 }) }),
  fc.record(
    { kind: fc.constant('folder' as const), base: directory, extensions: fc.array(extension, { maxLength: 2 }), depth },
    { requiredKeys: ['kind', 'base'] },
  ),
  fc.record({ kind: fc.constant('glob' as const), base: directory, patterns: fc.array(pattern, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('marked' as const), base: directory, marks: fc.constant('_') }),
  fc.constant<PathSet>({ kind: 'stem', stem: 'index' }),
  fc.constant<PathSet>({ kind: 'dated' }),
);
const sets = (of: fc.Arbitrary<PathSet>): fc.Arbitrary<PathSet> => {
  const many = fc.array(of, { maxLength: 3 });
  return fc.oneof(
    of,
    fc.record({ kind: fc.constant('union' as const), of: many }),
    fc.record({ kind: fc.constant('intersection' as const), of: many }),
    fc.record({ kind: fc.constant('difference' as const), of, without: many }),
  );
};

it('finds of many sets all that a path is in, the first one first', () => {
  fc.assert(
    fc.property(fc.array(sets(sets(simple)), { maxLength: 8 }), fc.array(path, { maxLength: 12 }), (all, paths) => {
      const setsOf = placing(all);
      const holds = all.map(membership);
      for (const one of paths) {
        const expected = holds.flatMap((isIn, at) => (isIn(one) ? [at] : []));
        expect(setsOf(one)).toEqual(expected);
        expect(setsOf(one, 1)).toEqual(expected.slice(0, 1));
      }
    }),
    { numRuns: 2_000 },
  );
});

it('compares a path with a hundred sets of one directory, and with those that list it', () => {
  const folders = Array.from({ length: 300 }, (): PathSet => ({ kind: 'folder', base: 'a', depth: 1 }));
  const setsOf = placing([...folders, { kind: 'listed', paths: ['a/b/c.md'] }]);
  let compared = 0;
  const count = () => void compared++;
  tally.compare.subscribe(count);
  expect(setsOf('a/b/c.md')).toEqual([300]);
  expect(setsOf('a/b/d.md')).toEqual([]);
  tally.compare.unsubscribe(count);
  expect(compared).toBe(201);
});

it('compares a path with sets only as long as their globs together cost what one path may', () => {
  const costly = (at: number): PathSet => ({
    kind: 'glob',
    base: '',
    patterns: [`*${'a'.repeat(50)}{${Array.from({ length: 20 }, (_, end) => `${at}-${end}`).join(',')}}*`],
  });
  const [before, after]: PathSet[] = [
    { kind: 'folder', base: '' },
    { kind: 'glob', base: '', patterns: ['*.md'] },
  ];
  let compared = 0;
  const count = () => void compared++;
  const compare = (sets: PathSet[], path: string) => {
    compared = 0;
    tally.compare.subscribe(count);
    const found = placing(sets)(path);
    tally.compare.unsubscribe(count);
    return { found, compared };
  };
  const sets = [before, ...Array.from({ length: 90 }, (_, at) => costly(at)), after] as PathSet[];
  expect(compare(sets, 'a.md')).toEqual({ found: [0, 91], compared: 92 });
  const long = compare(sets, `${'a'.repeat(200)}.md`);
  expect(long.found).toEqual([0]);
  expect(long.compared).toBeLessThan(10);
  // The exception a path is left out by may be what costs too much.
  const difference: PathSet = { kind: 'difference', of: { kind: 'folder', base: '' }, without: sets.slice(1, 91) };
  expect(membership(difference)(`${'a'.repeat(200)}.md`)).toBe(false);
});
