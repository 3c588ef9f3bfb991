import { expect, it } from 'vitest';
import { changedFields, labelled } from '../../../../src/domain/studio/compare/compare.operations.ts';
import type { CollectionSchema } from '../../../../src/domain/studio/schema/collection-schema.ts';
import { field } from '../../../../src/domain/studio/schema/zod/field-algebra.ts';

it.each([
  ['nothing', { a: 1, b: [1] }, { b: [1], a: 1 }, []],
  ['a value, a new key and one that went', { a: 1, b: 2, c: 3 }, { a: 2, b: 2, d: 4 }, ['/a', '/d', '/c']],
  [
    'a key deep inside',
    { seo: { title: 'x', robots: { index: true } } },
    { seo: { title: 'x', robots: { index: false } } },
    ['/seo/robots/index'],
  ],
  ['a list as a whole', { tags: ['a'] }, { tags: ['a', 'b'] }, ['/tags']],
  ['a map that became a text', { a: { b: 1 } }, { a: 'x' }, ['/a']],
  ['null and absence', { a: null }, {}, ['/a']],
  ['keys that a pointer escapes', { 'a/b': 1, 'c~d': 1 }, { 'a/b': 2, 'c~d': 2 }, ['/a~1b', '/c~0d']],
  ['names of a prototype', {}, JSON.parse('{"__proto__": 1, "constructor": 2}'), ['/__proto__', '/constructor']],
])('finds %s', (_what, before, after, wanted) => {
  expect(changedFields(before, after)).toEqual(wanted);
});

it('shows as many fields as there is room for their labels, which repeat those of the objects around them', () => {
  const outer = field('object', { name: 'o', label: 'a'.repeat(2_000), fields: [field('string', { name: 'f1' })] });
  const schema = { fields: [outer] } as unknown as CollectionSchema;
  const pointers = Array.from({ length: 1_000 }, (_, at) => `/o/f${at}`);
  const { fields, labels } = labelled(schema, pointers);
  expect(fields).toEqual(pointers.slice(0, Math.floor((64 * 1024) / 501)));
  expect(labels).toHaveLength(fields.length);
  expect(labels[1]).toBe(`…${`${'a'.repeat(2_000)} › F1`.slice(-500)}`);
  expect(labelled(schema, ['/x'])).toEqual({ fields: ['/x'], labels: ['X'] });
});
