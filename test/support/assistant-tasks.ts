import { expect } from 'vitest';
import { tools } from '../../src/domain/assistant/tools.ts';
import { studio, type TestApp } from './app.ts';
import { siteFiles } from './site-files.ts';

/** A task as a model does it, step by step: its only information is what tools have returned. */
export interface AssistantTask {
  title: string;
  /**
   * @param tool calls a tool on the task's branch
   * @param own name of that branch
   */
  act(tool: (name: string, given?: object) => Promise<Json>, own: () => Promise<string>): Promise<void>;
  /** Files that the branch then differs by, as they are; null: gone. */
  files: Record<string, string | null>;
}
// biome-ignore lint/suspicious/noExplicitAny: what tools answer has many shapes
export type Json = any;

const posts = 'src/content/posts';
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const alpha = siteFiles[`${posts}/en/alpha.md`] ?? '';
const beta = siteFiles[`${posts}/en/beta.md`] ?? '';
const gamma = siteFiles[`${posts}/en/deep/gamma.md`] ?? '';
export const extraFiles: Record<string, string> = {
  [`${posts}/en/odd.md`]: '---\ntitle: Odd\nauthor: ada\nrating: 9\n---\n',
  [`${posts}/en/links.md`]:
    '---\ntitle: Links\nauthor: ada\n---\n\nSee [the first](./alpah.md) and [Beta](./beta.md).\n',
  [`${posts}/en/images.md`]: '---\ntitle: Images\nauthor: bob\n---\n\n![](/logo.svg)\n\n![A tree](/logo.svg)\n',
};

export const assistantTasks: readonly AssistantTask[] = [
  {
    title: 'finds a post by its words and gives it another title',
    async act(tool) {
      const { items } = await tool('search_entries', { q: 'stars' });
      const { collection, slug: entry, sha } = items[0];
      await tool('update_entry', { collection, entry, sha, frontmatter: { title: 'The first' } });
    },
    files: { [`${posts}/en/alpha.md`]: alpha.replace('"Alpha"', '"The first"') },
  },
  {
    title: 'translates an entry into the language that lacks it',
    async act(tool) {
      const { frontmatter, locale } = await tool('get_entry', { collection: 'posts', entry: 'en/beta' });
      expect(locale).toBe('en');
      const { title: _, ...kept } = frontmatter;
      const translated = { title: 'Beta auf Deutsch', ...kept };
      const entry = {
        collection: 'posts',
        slug: 'de/beta',
        frontmatter: translated,
        body: 'Rumpf von Beta.\n',
      };
      await tool('create_entry', entry);
    },
    files: {
      [`${posts}/de/beta.md`]:
        '---\ntitle: Beta auf Deutsch\ndate: 2026-02-01\ndraft: true\ntags:\n  - two\nauthor: ada\n---\n\nRumpf von Beta.\n',
    },
  },
  {
    title: 'mends a broken link and leaves the good one',
    async act(tool) {
      const at = { collection: 'posts', entry: 'en/links' };
      const { body, sha } = await tool('get_entry', at);
      const { items } = await tool('search_entries', { collection: 'posts', q: 'alpha', locale: 'en' });
      expect(items.map(({ slug }: Json) => slug)).toContain('en/alpha');
      await tool('update_entry', { ...at, sha, body: body.replace('./alpah.md', './alpha.md') });
    },
    files: { [`${posts}/en/links.md`]: extraFiles[`${posts}/en/links.md`]?.replace('alpah', 'alpha') ?? '' },
  },
  {
    title: 'adds an alternative text where there is none',
    async act(tool) {
      const at = { collection: 'posts', entry: 'en/images' };
      const { body, sha } = await tool('get_entry', at);
      await tool('update_entry', { ...at, sha, body: body.replace('![]', '![The logo of the site]') });
    },
    files: {
      [`${posts}/en/images.md`]: extraFiles[`${posts}/en/images.md`]?.replace('![]', '![The logo of the site]') ?? '',
    },
  },
  {
    title: 'makes five entries of a list',
    async act(tool) {
      const { fields } = await tool('get_schema', { collection: 'authors' });
      expect(fields.map(({ name }: Json) => name)).toEqual(['name']);
      for (const name of ['Cleo', 'Dora', 'Emil', 'Fritz', 'Greta'])
        await tool('create_entry', { collection: 'authors', slug: name.toLowerCase(), frontmatter: { name } });
    },
    files: Object.fromEntries(
      ['Cleo', 'Dora', 'Emil', 'Fritz', 'Greta'].map((name) => [
        `src/content/authors/${name.toLowerCase()}.yaml`,
        `name: ${name}\n`,
      ]),
    ),
  },
  {
    title: 'moves a page, and what links to it goes along',
    async act(tool) {
      const moved = await tool('update_entry', { collection: 'posts', entry: 'en/beta', slug: 'en/second' });
      expect(moved).toMatchObject({ renamed_from: 'en/beta', references: ['posts/en/links'] });
    },
    files: {
      [`${posts}/en/beta.md`]: null,
      [`${posts}/en/second.md`]: beta,
      [`${posts}/en/links.md`]: extraFiles[`${posts}/en/links.md`]?.replace('./beta.md', './second.md') ?? '',
    },
  },
  {
    title: 'finds what is invalid and mends it',
    async act(tool) {
      const { items } = await tool('search_entries', { collection: 'posts', invalid: true });
      expect(items).toMatchObject([
        { slug: 'en/odd', faults: [{ field: '/frontmatter/rating', message: 'must be at most 5' }] },
      ]);
      await tool('update_entry', { collection: 'posts', entry: 'en/odd', frontmatter: { rating: 5 } });
    },
    files: { [`${posts}/en/odd.md`]: extraFiles[`${posts}/en/odd.md`]?.replace('9', '5') ?? '' },
  },
  {
    title: 'adds a picture and shows it in a post',
    async act(tool) {
      const { files } = await tool('upload_media', { path: 'public/dot.png', content: pixel });
      expect(files).toMatchObject([{ public_path: '/dot.png', width: 1, height: 1 }]);
      const at = { collection: 'posts', entry: 'en/deep/gamma' };
      const { body, sha } = await tool('get_entry', at);
      await tool('update_entry', { ...at, sha, body: `${body}\n![A dot](${files[0].public_path})\n` });
    },
    files: {
      'public/dot.png': Buffer.from(pixel, 'base64').toString('utf8'),
      [`${posts}/en/deep/gamma.md`]: `${gamma}\n![A dot](/dot.png)\n`,
    },
  },
  {
    title: 'removes an entry once that is agreed to',
    async act(tool) {
      await tool('delete_entry', { collection: 'posts', entry: 'de/alpha' });
    },
    files: { [`${posts}/de/alpha.md`]: null },
  },
  {
    title: 'removes a field and leaves the comments of others',
    async act(tool) {
      await tool('update_entry', { collection: 'posts', entry: 'en/alpha', unset: ['/rating'] });
    },
    files: { [`${posts}/en/alpha.md`]: alpha.replace('rating: 4.5\n', '') },
  },
  {
    title: 'proposes what it did, with a summary of what changed',
    async act(tool, own) {
      await tool('update_entry', { collection: 'authors', entry: 'bob', frontmatter: { name: 'Robert' } });
      const { files } = await tool('compare_branches', { base: 'main', head: await own(), values: true });
      const [change] = files[0].entry.fields;
      const body = `${files[0].path}: ${change.label} was ${change.before}, and is ${change.after}.`;
      const made = await tool('create_pull', { head: await own(), title: 'Call Bob by his name', body });
      const pull = await tool('get_pull', { number: made.number });
      expect(pull).toMatchObject({
        body: 'src/content/authors/bob.yaml: Name was Bob, and is Robert.',
        changed_files: 1,
        mergeable_state: 'clean',
      });
    },
    files: { 'src/content/authors/bob.yaml': 'name: Robert\n' },
  },
  {
    title: 'says which framework the site is of, and where its pages are',
    async act(tool) {
      const { framework, saved } = await tool('detect_routes');
      expect({ framework: framework.id, saved }).toEqual({ framework: 'astro', saved: false });
      const { content, encoding } = await tool('read_file', { path: 'astro.config.mjs' });
      expect({ encoding, hasLocales: content.includes("locales: ['en', 'de']") }).toEqual({
        encoding: 'utf-8',
        hasLocales: true,
      });
    },
    files: {},
  },
];

/** Whether a tool takes the branch it is about. */
export const takesBranch = (name: string): boolean =>
  tools.some((tool) => tool.name === name && Object.hasOwn(tool.inputs.shape, 'branch'));

/** A branch differs from the default one by what a task does, and by nothing else. */
export async function expectDone(app: TestApp, branch: string, { files }: Pick<AssistantTask, 'files'>): Promise<void> {
  const git = await app.repository();
  const snapshot = await git.snapshot((await app.ask('GET', `${studio}/branches/${branch}`)).body.commit);
  const found: Record<string, string | null> = {};
  for (const path of Object.keys(files)) {
    const { entry } = await snapshot.lookup(path);
    found[path] = entry ? (await snapshot.blob(entry.oid)).toString('utf8') : null;
  }
  expect(found).toEqual(files);
  const { body } = await app.ask('GET', `${studio}/compare?base=main&head=${branch}`);
  const changed = body.files.flatMap((file: Json) => [file.path, ...(file.previous_path ? [file.previous_path] : [])]);
  expect(changed.sort()).toEqual(Object.keys(files).sort());
}
