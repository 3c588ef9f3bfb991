import { expect, test } from 'vitest';
import { slugProblem, typedSlug } from '../../src/dashboard/lib/entry-slug.ts';

test('puts hyphens in the place of spaces while a name is typed', () => {
  expect(typedSlug('en/first  snow\tfalls ')).toBe('en/first-snow-falls-');
  expect(typedSlug('ne\u0301e')).toBe('n\u00e9e');
});

test.each(['', 'first-snow', 'en/première-neige', '2026/01/初雪', 'v1.2_b~c', '@home'])(
  'finds nothing wrong with %j',
  (slug) => {
    expect(slugProblem(slug)).toBeNull();
  },
);

test.each([
  ['a:b', 'common:slug_characters', ':'],
  ['a?b#c', 'common:slug_characters', '? #'],
  ['a b', 'common:slug_characters', ' '],
  ['::::', 'common:slug_characters', ':'],
  ['<>:"|?*', 'common:slug_characters', '< > : " |'],
  ['/a', 'common:slug_segments', ''],
  ['a/', 'common:slug_segments', ''],
  ['a//b', 'common:slug_segments', ''],
  ['a/../b', 'common:slug_segments', ''],
  ['./a', 'common:slug_segments', ''],
  ['a./b', 'common:slug_dot', ''],
])('says what is wrong with %j', (slug, key, characters) => {
  expect(slugProblem(slug)).toEqual({ key, characters });
});
