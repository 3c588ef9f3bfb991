import { expect, it } from 'vitest';
import { pointRelations } from '../../../../src/domain/studio/entries/plan/rename-entry.ts';

const related = (at: number) => ({ pointer: `/related/${at}`, slug: 'b' });

it('replaces slugs, and the slugs or ids in objects, and leaves all else', () => {
  const shared = { slug: 'a', note: 'x' };
  const before = { title: 'a', related: ['a', 'z', { id: 'a', slug: 'a' }, shared], other: shared };
  const after = pointRelations(before, [0, 2, 3].map(related));
  expect(after).toEqual({
    title: 'a',
    related: ['b', 'z', { id: 'b', slug: 'a' }, { slug: 'b', note: 'x' }],
    other: { slug: 'a', note: 'x' },
  });
  expect(before.related[0]).toBe('a');
});

it('replaces what stands below a key of any name', () => {
  const before = JSON.parse('{"__proto__":{"related":["a"]}}') as Record<string, unknown>;
  const after = pointRelations(before, [{ pointer: '/__proto__/related/0', slug: 'b' }]);
  expect(JSON.stringify(after)).toBe('{"__proto__":{"related":["b"]}}');
});

it('copies a list once for all relations in it', () => {
  let reads = 0;
  const list = new Proxy(
    Array.from({ length: 1_000 }, () => 'a'),
    {
      get(target, key, receiver) {
        reads += 1;
        return Reflect.get(target, key, receiver);
      },
    },
  );
  const after = pointRelations({ related: list }, [...list.keys()].map(related));
  expect(after.related).toEqual(Array.from({ length: 1_000 }, () => 'b'));
  expect(reads).toBeLessThan(10_000);
});
