import { expect, it } from 'vitest';
import { storableJson } from '../../../src/domain/crawlers/snapshots/snapshot-entries.ts';

it.each([
  ['a\u0000b', 'ab'],
  ['\ud800', '\ufffd'],
  ['a\\u0000', 'a\\u0000'],
  ['\u0001 "é" 😀', '\u0001 "é" 😀'],
])('keeps of %j what PostgreSQL can store', (text, kept) => {
  expect(JSON.parse(storableJson([{ text, number: 1, none: null }]))).toEqual([{ text: kept, number: 1, none: null }]);
});
