import { expect, test } from 'vitest';
import { csvLine } from '../../src/dashboard/lib/csv.ts';
import fc from '../support/properties.ts';

test.each(['=1+1', '+1', '-1', '@cmd', '\t=1', '\r=1'])('a spreadsheet computes nothing from %j', (text) => {
  expect(csvLine([text])).toMatch(/^"?'/);
});

test('objects are JSON, and what is absent is empty', () => {
  expect(csvLine([{ name: 'Site' }, null, undefined, 3])).toBe('"{""name"":""Site""}",,,3\r\n');
});

/** Cells of one line, as RFC 4180 has them. */
const cellsOf = (line: string): string[] =>
  [...`,${line.slice(0, -2)}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );

test('every text comes back, but for the apostrophe before what would be computed', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), (texts) => {
      const cells = cellsOf(csvLine(texts));
      expect(cells.map((cell, at) => (/^[=+\-@\t\r]/.test(texts[at] ?? '') ? cell.slice(1) : cell))).toEqual(texts);
    }),
  );
});
