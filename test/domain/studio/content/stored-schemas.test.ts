import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createContentCache } from '../../../../src/db/content-cache.ts';
import type { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import type { SiteIndex } from '../../../../src/domain/studio/content/site-index.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { silentLog } from '../../../support/no-content-cache.ts';
import { counted, newIndex, uncachedIndex } from './reading.ts';

const config = (field: string) => `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
import { fields } from './fields';
const posts = defineCollection({ loader: glob({ pattern: '**/*.md', base: 'src/content/posts' }), schema: fields.extend({ ${field} }) });
export const collections = { posts };
`;
const fields = `import { z } from 'astro/zod';
export const fields = z.object({ title: z.string() });
`;
const post = '---\ntitle: A\n---\n';
const declared = {
  'src/content.config.ts': config(`mood: z.string()`),
  'src/fields.ts': fields,
  'src/content/posts/a.md': post,
};

const app = shared(startTestApp);
beforeAll(async () => {
  // The application itself reads every new head in the background: here only the tests read.
  vi.spyOn(app.services.studio.moves, 'note').mockImplementation(() => {});
});

async function seed(files: Record<string, string>, branch = 'main'): Promise<void> {
  const git = await app.repository();
  const changes = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
  const author = { name: 'Seed', email: 'seed@portico.test' };
  await git.write({ branch, author, plan: async () => ({ changes, message: 'Seed', result: null }) });
}

/** Reads the site of a branch as a process does that has just begun. @returns what it read for that */
async function read(branch: string, content: ContentIndex = newIndex(app)): Promise<SiteIndex & { blobs: number }> {
  const { git, count } = counted(await app.repository());
  const snapshot = await git.snapshot(await git.head(branch));
  count.blobs = 0;
  const site = await content.site(git, snapshot);
  const { blobs } = count;
  await content.settled();
  return { ...site, blobs };
}

const plain = ({ discovery: { schemas, ...rest }, collections }: SiteIndex) => [
  rest,
  schemas.map(({ matches: _, ...schema }) => schema),
  [...collections.values()].map(({ entries }) => entries),
];

/** What is stored says the same as the files. */
async function checkRead(branch: string, blobs: 'read' | 'stored'): Promise<SiteIndex> {
  const found = await read(branch);
  expect(found.blobs > 0 ? 'read' : 'stored').toBe(blobs);
  expect(plain(found)).toEqual(plain(await read(branch, uncachedIndex())));
  return found;
}

async function rows(): Promise<number> {
  const [{ count }] = (await app.services.orm.em.fork().execute('select count(*)::int from studio_schema')) as [
    { count: number },
  ];
  return count;
}

describe('a site that says all in its configuration', () => {
  beforeAll(() => seed(declared));

  it('is read once, by whatever process, with whatever entries', async () => {
    await checkRead('main', 'read');
    expect(await rows()).toBe(1);
    await checkRead('main', 'stored');
    await seed({ 'src/content/posts/b.md': post, 'src/content/posts/a.md': `${post}More.\n` });
    const { collections } = await checkRead('main', 'stored');
    expect(collections.get('posts')?.entries).toHaveLength(2);
  });

  it('is read again when its configuration, or a file that this imports, is another one', async () => {
    await seed({ 'src/content.config.ts': config('mood: z.number()') });
    const changed = await checkRead('main', 'read');
    expect(changed.discovery.schemas[0]?.fields.map(({ type }) => type)).toEqual(['string', 'number']);
    await checkRead('main', 'stored');
    await seed({ 'src/fields.ts': fields.replace('z.string()', 'z.boolean()') });
    await checkRead('main', 'read');
    await seed({ 'src/fields.ts': fields });
    await checkRead('main', 'stored');
    await seed({ 'src/content.config.ts': config('mood: z.string()') });
    await checkRead('main', 'stored');
  });

  it('is read again when a file says something about it by its name', async () => {
    const before = await rows();
    await seed({ 'static/a.png': 'x' });
    const { discovery } = await checkRead('main', 'read');
    expect(discovery.mediaRoots.map(({ path }) => path)).toEqual([
      'public',
      'src/assets',
      'static',
      'src/content/posts',
    ]);
    await seed({ 'apps/web/astro.config.mjs': 'export default {}' });
    const { discovery: several } = await checkRead('main', 'read');
    expect(several.warnings.map(({ code }) => code)).toContain('several_sites');
    expect(await rows()).toBe(before + 2);
  });

  it('is found for another branch with the same configuration, and for another content root is not', async () => {
    const git = await app.repository();
    await git.createBranch('topic', (await git.head('main')) ?? '');
    await seed({ 'src/content/posts/c.md': post }, 'topic');
    await checkRead('topic', 'stored');
    const below = await read('topic', newIndex(app).below('apps/web'));
    expect(below.discovery.contentRoot).toBe('apps/web');
    expect((await read('topic', newIndex(app).below('apps/web'))).discovery.contentRoot).toBe('apps/web');
    await checkRead('topic', 'stored');
  });

  it('is read again on demand, and what was stored is replaced', async () => {
    const em = app.services.orm.em.fork();
    await em.execute(`update studio_schema set discovery = replace(discovery::text, '"title"', '"wrong"')::json`);
    expect((await read('main')).discovery.schemas[0]?.fields[0]?.name).toBe('wrong');
    const git = await app.repository();
    const content = newIndex(app);
    await content.refresh(git, await git.snapshot(await git.head('main')));
    await content.settled();
    await checkRead('main', 'stored');
  });

  it('only the newest are kept', async () => {
    const cache = createContentCache(app.services.orm, silentLog);
    const { id } = await app.repository();
    const digest = (at: number) => String(at).padStart(32, '0');
    for (let at = 0; at < 70; at += 1)
      await cache.storeSchemas(id, { key: digest(at), variant: digest(0), text: '{}' });
    expect(await rows()).toBe(64);
    expect(await cache.schemas(id, [digest(5), digest(6), digest(69)])).toEqual(
      [69, 6].map((at) => ({ key: digest(at), variant: digest(0), text: '{}' })),
    );
    await checkRead('main', 'read');
    await checkRead('main', 'stored');
  });
});

it('of a site without configuration the whole tree must be the same', async () => {
  const git = await app.repository();
  await git.createBranch('plain', (await git.head('main')) ?? '');
  await seed({ 'notes/a.md': '---\nmood: calm\n---\n' }, 'plain');
  await checkRead('plain', 'read');
  await checkRead('plain', 'stored');
  await seed({ 'notes/a.md': '---\nmood: 1\n---\n' }, 'plain');
  const { discovery } = await checkRead('plain', 'read');
  const notes = discovery.schemas.find(({ collection }) => collection === 'notes');
  expect(notes?.fields.map(({ type }) => type)).toEqual(['integer']);
});
