/** Tables as text: one cell, row or column changes, and nothing else. */
import { describe, expect, it } from 'vitest';
import {
  addColumn,
  addRow,
  changeCell,
  readTable,
  removeColumn,
  removeRow,
  type TextChange,
} from '../../src/dashboard/pages/entry/visual/table-source.ts';
import fc from '../support/properties.ts';

const table = '| Name | Size |\n|:-----|-----:|\n| Elm  | 3    |\n| Oak  |      |';
const close = '|a|b|\n|-|-|\n|1|2|\n|3||';
const bare = 'a | b\n--- | ---\n1 | 2';

function changed(source: string, changes: TextChange | readonly TextChange[] | null): string {
  return [changes ?? []]
    .flat()
    .toSorted((one, other) => other.from - one.from)
    .reduce((text, { from, to, insert }) => text.slice(0, from) + insert + text.slice(to), source);
}
const texts = (source: string) => {
  const { head, rows } = readTable(source);
  return [head, ...rows].map((row) => row.map(({ text }) => text));
};

describe('reading', () => {
  it('finds cells with pipes at the ends and without, and escaped ones', () => {
    expect(texts(table)).toEqual([
      ['Name', 'Size'],
      ['Elm', '3'],
      ['Oak', ''],
    ]);
    expect(texts(bare)).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
    expect(texts('| a \\| b | c |\n|-|-|\n||x|')).toEqual([
      ['a \\| b', 'c'],
      ['', 'x'],
    ]);
  });
});

describe('a cell', () => {
  it.each([
    [table, 0, 0, 'Elder', table.replace('Elm  ', 'Elder  ')],
    [table, 1, 1, '7', table.replace('| Oak  |      |', '| Oak  | 7     |')],
    [table, -1, 0, 'Tree', table.replace('Name', 'Tree')],
    [table, 0, 1, 'a|b', table.replace('3 ', 'a\\|b ')],
    [table, 0, 1, 'a \\| b', table.replace('3 ', 'a \\| b ')],
    [table, 0, 0, 'two\nlines', table.replace('Elm', 'two lines')],
    [bare, 0, 1, '', 'a | b\n--- | ---\n1 | '],
    ['| a | b |\n|-|-|\n| 1 |', 0, 1, 'x', '| a | b |\n|-|-|\n| 1 | x |'],
    ['a | b\n-|-\n1', 0, 1, 'x', 'a | b\n-|-\n1 | x'],
  ])('of %j at %i, %i becomes %j', (source, row, column, text, expected) =>
    expect(changed(source, changeCell(source, row, column, text))).toBe(expected),
  );

  it('that is the same is no change', () => expect(changeCell(table, 0, 0, ' Elm ')).toBeNull());

  it('changes alone, whatever is typed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(table, close),
        fc.string(),
        fc.integer({ min: -1, max: 1 }),
        fc.nat(1),
        (source, text, row, column) => {
          const now = texts(changed(source, changeCell(source, row, column, text)));
          const expected = texts(source);
          for (const [at, cells] of expected.entries())
            for (const [index, cell] of cells.entries())
              if (at !== row + 1 || index !== column) expect(now[at]?.[index]).toBe(cell);
          expect(now).toHaveLength(expected.length);
        },
      ),
    );
  });
});

describe('rows and columns', () => {
  it('are added and removed', () => {
    expect(texts(changed(table, addRow(table, 0)))).toEqual([
      ['Name', 'Size'],
      ['Elm', '3'],
      ['', ''],
      ['Oak', ''],
    ]);
    expect(changed(table, removeRow(table, 1))).toBe('| Name | Size |\n|:-----|-----:|\n| Elm  | 3    |');
    expect(texts(changed(table, addColumn(table, 0)))).toEqual([
      ['Name', '', 'Size'],
      ['Elm', '', '3'],
      ['Oak', '', ''],
    ]);
    expect(texts(changed(bare, addColumn(bare, 1)))).toEqual([
      ['a', 'b', ''],
      ['1', '2', ''],
    ]);
    expect(texts(changed(table, removeColumn(table, 0)))).toEqual([['Size'], ['3'], ['']]);
    expect(texts(changed(bare, removeColumn(bare, 1)))).toEqual([['a'], ['1']]);
  });
});
