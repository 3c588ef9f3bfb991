import { expect, it } from 'vitest';
import { advanceSite, buildSite } from '../../../../src/domain/studio/content/site-index.ts';
import type { CollectionSchema, Discovery } from '../../../../src/domain/studio/schema/collection-schema.ts';

const posts = {
  collection: 'posts',
  path: 'posts',
  slugs: { extensions: ['md'], index_names: ['index'], locales: null },
  matches: (path: string) => path.startsWith('posts/'),
} as unknown as CollectionSchema;
const discovery = { schemas: [posts] } as unknown as Discovery;
const file = (path: string, mode = '100644') => ({ path, oid: '1', mode });

it('an entry that becomes a symlink is an entry no more, and one again when it is a file again', () => {
  const files = [file('posts/a.md'), file('posts/b.md')];
  const linked = [file('posts/a.md', '120000'), file('posts/b.md')];
  const before = buildSite(discovery, 'key', files);
  const slugs = (site: typeof before | null) => site?.collection('posts').entries.map(({ slug }) => slug);
  const without = advanceSite(before, linked, () => false);
  expect(slugs(without)).toEqual(['b']);
  expect(slugs(without && advanceSite(without, files, () => false))).toEqual(['a', 'b']);
  expect(advanceSite(before, linked, () => true)).toBeNull();
});
