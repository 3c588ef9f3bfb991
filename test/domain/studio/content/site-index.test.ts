import { expect, it } from 'vitest';
import { buildSite, changeSite, changesSchemas, placedBy } from '../../../../src/domain/studio/content/site-index.ts';
import type { CollectionSchema, Discovery } from '../../../../src/domain/studio/schema/collection-schema.ts';

const posts = {
  collection: 'posts',
  path: 'posts',
  slugs: { extensions: ['md'], index_names: ['index'], locales: null },
  matches: (path: string) => path.startsWith('posts/'),
} as unknown as CollectionSchema;
const discovery = { schemas: [posts], dependencies: ['site.config.js'] } as unknown as Discovery;
const file = (path: string, mode = '100644') => ({ path, oid: '1', mode });
const side = { oid: '1', mode: '100644' };
const link = { oid: '1', mode: '120000' };

it('an entry that becomes a symlink is an entry no more, and one again when it is a file again', async () => {
  const before = await buildSite(discovery, 'key', [file('posts/a.md'), file('posts/b.md')]);
  const slugs = (site: typeof before) => site.collection('posts').entries.map(({ slug }) => slug);
  const without = await changeSite(before, placedBy([{ path: 'posts/a.md', before: side, after: link }]));
  expect(slugs(without)).toEqual(['b']);
  const again = await changeSite(without, placedBy([{ path: 'posts/a.md', before: link, after: side }]));
  expect(slugs(again)).toEqual(['a', 'b']);
});

it('schemas may be others where a file they rest on changed, and are the same where an entry did', async () => {
  const site = await buildSite(discovery, 'key', [file('posts/a.md')]);
  expect(await changesSchemas(site, [{ path: 'site.config.js', before: side, after: link }])).toBe(true);
  expect(await changesSchemas(site, [{ path: 'pages/new.md', before: null, after: side }])).toBe(true);
  expect(await changesSchemas(site, [{ path: 'posts/b.md', before: null, after: side }])).toBe(false);
});
