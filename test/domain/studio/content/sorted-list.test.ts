import { describe, expect, it } from 'vitest';
import { SortedList } from '../../../../src/domain/studio/content/sorted-list.ts';
import fc from '../../../support/properties.ts';

interface Item {
  key: string;
  value: number;
}

const keyOf = ({ key }: Item) => key;
const key = fc.integer({ min: 0, max: 2_000 }).map((number) => String(number).padStart(4, '0'));
const items = (held: ReadonlyMap<string, number>) =>
  [...held].map(([name, value]) => ({ key: name, value })).sort((a, b) => (a.key < b.key ? -1 : 1));

describe('a sorted list', () => {
  it('holds after any changes what a map holds, and the lists before are as they were', () => {
    const change = fc.tuple(key, fc.option(fc.nat(), { freq: 2 }));
    const changes = fc.array(fc.array(change, { maxLength: 40 }), { maxLength: 8 });
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 1_500 }), changes, key, (begin, edits, requested) => {
        const held = new Map(begin.map((name) => [name, 0]));
        let list = SortedList.of(items(held), keyOf);
        for (const edit of edits) {
          const [earlier, was] = [list, list.toArray().slice()];
          list = list.with(new Map(edit.map(([name, value]) => [name, value === null ? null : { key: name, value }])));
          for (const [name, value] of new Map(edit)) {
            if (value === null) held.delete(name);
            else held.set(name, value);
          }
          const wanted = items(held);
          expect(list.toArray()).toEqual(wanted);
          expect(list.size).toBe(wanted.length);
          expect(list.get(requested)).toEqual(wanted.find((item) => item.key === requested));
          expect([...list.from(requested)]).toEqual(wanted.filter((item) => item.key >= requested));
          expect(earlier.toArray()).toEqual(was);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('shares the items that did not change, and makes its array once', () => {
    const before = SortedList.of([{ key: 'a', value: 1 }], keyOf);
    const after = before.with(new Map([['b', { key: 'b', value: 2 }]]));
    expect(after.toArray()[0]).toBe(before.toArray()[0]);
    expect(after.toArray()).toBe(after.toArray());
  });
});
