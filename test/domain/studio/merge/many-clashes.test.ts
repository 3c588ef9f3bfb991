import { expect, it } from 'vitest';
import { mergeEntry } from '../../../../src/domain/studio/merge/merge-entry.ts';

const versionOf = (count: number, value: string) =>
  Buffer.from(`---\n${Array.from({ length: count }, (_, at) => `key${at}: ${value}`).join('\n')}\n---\nText\n`);
const merge = (count: number, resolution?: object) =>
  mergeEntry({
    base: versionOf(count, 'base'),
    current: versionOf(count, 'current'),
    incoming: versionOf(count, 'incoming'),
    path: 'a.md',
    ...(resolution && { resolution: { path: 'a.md', ...resolution } }),
  });

it('a file of which more than a thousand pieces clash is settled as a whole', () => {
  const pieces = merge(1_000);
  expect(pieces.kind === 'conflict' && pieces.conflict.fields).toHaveLength(1_000);
  expect(merge(1_001)).toMatchObject({
    kind: 'conflict',
    conflict: { type: 'field', fields: [], hunks: [], reason: 'more than 1,000 pieces of it clash' },
  });
  expect(merge(1_001, { take: 'incoming' })).toMatchObject({ kind: 'clean', bytes: versionOf(1_001, 'incoming') });
});
