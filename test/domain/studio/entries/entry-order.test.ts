import { expect, it } from 'vitest';
import { fieldValue, type KnownEntry, type SortKey } from '../../../../src/domain/studio/entries/entry-query.ts';
import { sortEntries } from '../../../../src/domain/studio/entries/entry-selection.ts';
import fc from '../../../support/properties.ts';

const entryOf = (frontmatter: Record<string, unknown>, at: number): KnownEntry => ({
  entry: { slug: `s${String(at).padStart(3, '0')}`, path: `${at}.md`, oid: '' },
  facts: { frontmatter, title: '', draft: false, size: 0 },
});

const kinds = ['number', 'boolean', 'string'];
const kindOf = (value: unknown) => {
  if (value === undefined || value === null) return 4;
  return kinds.includes(typeof value) ? kinds.indexOf(typeof value) : 3;
};

/** The order as it is described: kind by kind, absent values last in both directions. */
function compare(a: unknown, b: unknown, descending: boolean): number {
  const [left, right] = [kindOf(a), kindOf(b)];
  if (left === 4 || right === 4) return left - right;
  const order = left - right || (left === 3 || a === b ? 0 : (a as string) < (b as string) ? -1 : 1);
  return descending ? -order : order;
}

const value = fc.constantFrom<unknown>(
  0,
  1,
  -2.5,
  true,
  false,
  '',
  'a',
  'b',
  'ä',
  'Z',
  '10',
  null,
  undefined,
  [],
  ['a'],
  {
    a: 1,
  },
);

it('orders values of all kinds by several keys, and equal entries by their slugs', async () => {
  const keys = fc.array(fc.record({ field: fc.constantFrom('x', 'y', 'z'), descending: fc.boolean() }), {
    maxLength: 3,
  });
  const entries = fc.array(fc.record({ x: value, y: value }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(entries, keys, fc.infiniteStream(fc.nat()), async (given, wanted: SortKey[], random) => {
      const sorted = given
        .map(entryOf)
        .map((known) => ({ known, at: random.next().value ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ known }) => known);
      const expected = sorted.toSorted((a, b) => {
        for (const { field, descending } of wanted) {
          const order = compare(fieldValue(a, field), fieldValue(b, field), descending);
          if (order !== 0) return order;
        }
        return a.entry.slug < b.entry.slug ? -1 : 1;
      });
      expect(await sortEntries(sorted, wanted)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
