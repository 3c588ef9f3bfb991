import { expect, it, vi } from 'vitest';
import { sortEntries } from '../../../../src/domain/studio/entries/entry-selection.ts';
import { detectFramework } from '../../../../src/domain/studio/frameworks/detect-framework.ts';
import { environmentDefaults } from '../../../../src/domain/studio/frameworks/environment-defaults.ts';
import { readRoutes } from '../../../../src/domain/studio/routes/routes-cache.ts';
import { discoverSchemas } from '../../../../src/domain/studio/schema/discover.ts';
import { groupFiles } from '../../../../src/domain/studio/schema/inferred-groups.ts';
import { configurationFiles, findSite, mediaRootsOf } from '../../../../src/domain/studio/schema/site-layout.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';

const count = 4_000;
const paths = Array.from({ length: count }, (_, at) => `content/posts/p${String(at).padStart(4, '0')}.md`);
const files = paths.map((path) => ({ path, oid: '1' }));
const site = { paths: files, read: async () => null };

it('a wide tree is searched for its site, its media and its configuration in many steps', async () => {
  const layout = await findSite(paths, undefined);
  expect(layout.root).toBe('');
  for (const work of [
    () => findSite(paths, undefined),
    () => mediaRootsOf(paths, layout),
    () => configurationFiles(files),
    () => detectFramework(site),
    async () => environmentDefaults(site, await detectFramework(site)),
    () => readRoutes(site),
  ])
    expect(await iterationsDuring(work)).toBeGreaterThan(count / 40);
});

it('each of many declared collections looks through a wide tree in many steps', async () => {
  const collections = 20;
  const config = JSON.stringify({
    collections: Array.from({ length: collections }, (_, at) => ({
      ...{ name: `c${at}`, path: 'content', pattern: `posts/p${at}*.md` },
      fields: [{ name: 'title' }],
    })),
  });
  const declared = {
    paths: [...files, { path: 'studio.config.json', oid: '2' }],
    read: async (path: string) => (path === 'studio.config.json' ? config : null),
  };
  let found: string[] = [];
  const steps = await iterationsDuring(async () => {
    const { schemas } = await discoverSchemas(declared, { sampleEntries: async () => [] });
    found = schemas.filter(({ source }) => source.kind === 'studio_config').map(({ collection }) => collection);
  });
  expect(found).toHaveLength(collections);
  expect(steps).toBeGreaterThan((collections * count) / 40);
});

it('the entries of a wide list are ordered in many steps', async () => {
  const known = paths.map((path, at) => ({
    entry: { slug: path, path, oid: '1' },
    facts: { frontmatter: { rank: (at * 7) % count }, title: '', draft: false, size: 0 },
  }));
  const steps = iterationsDuring(() => sortEntries(known, [{ field: 'rank', descending: true }]));
  expect(await steps).toBeGreaterThan(count / 10);
});

it('directories whose names come to the same are numbered without counting from the first each time', async () => {
  const many = Array.from({ length: 1_500 }, (_, at) => `content/${String.fromCodePoint(0x4e00 + at)}/a.md`);
  const layout = await findSite(many, undefined);
  const looks = vi.spyOn(Set.prototype, 'has');
  try {
    const groups = await groupFiles(many, layout, new Set());
    expect(new Set(groups.map(({ name }) => name)).size).toBe(many.length);
    expect(looks.mock.calls.length).toBeLessThan(20 * many.length);
  } finally {
    looks.mockRestore();
  }
});
