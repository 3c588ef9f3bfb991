import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { seed, startTestApp, studio, type TestApp } from '../support/app.ts';
import { callTool, connectClient } from '../support/mcp-client.ts';
import { siteFiles } from '../support/site-files.ts';

/** What a client does of a task, step by step, as a model would: it knows nothing but what tools have answered. */
interface Task {
  title: string;
  act(tool: (name: string, given?: object) => Promise<Json>, branch: string): Promise<void>;
  /** Files that the branch then differs by, as they are; null: gone. */
  files: Record<string, string | null>;
}
// biome-ignore lint/suspicious/noExplicitAny: what tools answer has many shapes
type Json = any;

const posts = 'src/content/posts';
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const alpha = siteFiles[`${posts}/en/alpha.md`] ?? '';
const beta = siteFiles[`${posts}/en/beta.md`] ?? '';
const gamma = siteFiles[`${posts}/en/deep/gamma.md`] ?? '';
const extra = {
  [`${posts}/en/odd.md`]: '---\ntitle: Odd\nauthor: ada\nrating: 9\n---\n',
  [`${posts}/en/links.md`]:
    '---\ntitle: Links\nauthor: ada\n---\n\nSee [the first](./alpah.md) and [Beta](./beta.md).\n',
  [`${posts}/en/images.md`]: '---\ntitle: Images\nauthor: bob\n---\n\n![](/logo.svg)\n\n![A tree](/logo.svg)\n',
};

const tasks: readonly Task[] = [
  {
    title: 'finds a post by its words and gives it another title',
    async act(tool, branch) {
      const { items } = await tool('search_entries', { q: 'stars', branch });
      const { collection, slug: entry, sha } = items[0];
      await tool('update_entry', { collection, entry, sha, branch, frontmatter: { title: 'The first' } });
    },
    files: { [`${posts}/en/alpha.md`]: alpha.replace('"Alpha"', '"The first"') },
  },
  {
    title: 'translates an entry into the language that lacks it',
    async act(tool, branch) {
      const { frontmatter, locale } = await tool('get_entry', { collection: 'posts', entry: 'en/beta', branch });
      expect(locale).toBe('en');
      const { title: _, ...kept } = frontmatter;
      const translated = { title: 'Beta auf Deutsch', ...kept };
      const entry = {
        collection: 'posts',
        slug: 'de/beta',
        frontmatter: translated,
        body: 'Rumpf von Beta.\n',
        branch,
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
    async act(tool, branch) {
      const at = { collection: 'posts', entry: 'en/links', branch };
      const { body, sha } = await tool('get_entry', at);
      const { items } = await tool('search_entries', { collection: 'posts', q: 'alpha', locale: 'en', branch });
      expect(items.map(({ slug }: Json) => slug)).toContain('en/alpha');
      await tool('update_entry', { ...at, sha, body: body.replace('./alpah.md', './alpha.md') });
    },
    files: { [`${posts}/en/links.md`]: extra[`${posts}/en/links.md`]?.replace('alpah', 'alpha') ?? '' },
  },
  {
    title: 'adds an alternative text where there is none',
    async act(tool, branch) {
      const at = { collection: 'posts', entry: 'en/images', branch };
      const { body, sha } = await tool('get_entry', at);
      await tool('update_entry', { ...at, sha, body: body.replace('![]', '![The logo of the site]') });
    },
    files: {
      [`${posts}/en/images.md`]: extra[`${posts}/en/images.md`]?.replace('![]', '![The logo of the site]') ?? '',
    },
  },
  {
    title: 'makes five entries of a list',
    async act(tool, branch) {
      const { fields } = await tool('get_schema', { collection: 'authors', branch });
      expect(fields.map(({ name }: Json) => name)).toEqual(['name']);
      for (const name of ['Cleo', 'Dora', 'Emil', 'Fritz', 'Greta'])
        await tool('create_entry', { collection: 'authors', slug: name.toLowerCase(), frontmatter: { name }, branch });
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
    async act(tool, branch) {
      const moved = await tool('update_entry', { collection: 'posts', entry: 'en/beta', slug: 'en/second', branch });
      expect(moved).toMatchObject({ renamed_from: 'en/beta', references: ['posts/en/links'] });
    },
    files: {
      [`${posts}/en/beta.md`]: null,
      [`${posts}/en/second.md`]: beta,
      [`${posts}/en/links.md`]: extra[`${posts}/en/links.md`]?.replace('./beta.md', './second.md') ?? '',
    },
  },
  {
    title: 'finds what is invalid and mends it',
    async act(tool, branch) {
      const { items } = await tool('search_entries', { collection: 'posts', invalid: true, branch });
      expect(items).toMatchObject([{ slug: 'en/odd', faults: [{ field: '/frontmatter/rating', message: 'must be at most 5' }] }]);
      await tool('update_entry', { collection: 'posts', entry: 'en/odd', branch, frontmatter: { rating: 5 } });
    },
    files: { [`${posts}/en/odd.md`]: extra[`${posts}/en/odd.md`]?.replace('9', '5') ?? '' },
  },
  {
    title: 'adds a picture and shows it in a post',
    async act(tool, branch) {
      const { files } = await tool('upload_media', { path: 'public/dot.png', content: pixel, branch });
      expect(files).toMatchObject([{ public_path: '/dot.png', width: 1, height: 1 }]);
      const at = { collection: 'posts', entry: 'en/deep/gamma', branch };
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
    async act(tool, branch) {
      await tool('delete_entry', { collection: 'posts', entry: 'de/alpha', branch });
    },
    files: { [`${posts}/de/alpha.md`]: null },
  },
  {
    title: 'removes a field and leaves the comments of others',
    async act(tool, branch) {
      await tool('update_entry', { collection: 'posts', entry: 'en/alpha', branch, unset: ['/rating'] });
    },
    files: { [`${posts}/en/alpha.md`]: alpha.replace('rating: 4.5\n', '') },
  },
  {
    title: 'proposes what it did, with a summary of what changed',
    async act(tool, branch) {
      await tool('update_entry', { collection: 'authors', entry: 'bob', branch, frontmatter: { name: 'Robert' } });
      const { files } = await tool('compare_branches', { base: 'main', head: branch, values: true });
      const [change] = files[0].entry.fields;
      const body = `${files[0].path}: ${change.label} was ${change.before}, and is ${change.after}.`;
      const made = await tool('create_pull', { head: branch, title: 'Call Bob by his name', body });
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
    async act(tool, branch) {
      const { framework, saved } = await tool('detect_routes', { branch });
      expect({ framework: framework.id, saved }).toEqual({ framework: 'astro', saved: false });
      const { content, encoding } = await tool('read_file', { path: 'astro.config.mjs', branch });
      expect({ encoding, hasLocales: content.includes("locales: ['en', 'de']") }).toEqual({
        encoding: 'utf-8',
        hasLocales: true,
      });
    },
    files: {},
  },
];

let app: TestApp;
let client: Client;
const asked: string[] = [];
beforeAll(async () => {
  app = await startTestApp();
  await seed(app, { ...siteFiles, ...extra });
  // It may not publish, and its person agrees to everything.
  const token = await app.makeToken(permissionNames.filter((name) => !name.startsWith('manage_')));
  client = await connectClient(app, token, (message) => {
    asked.push(message);
    return true;
  });
});
afterAll(async () => {
  await client?.close();
  await app?.stop();
});

it.each(tasks.map((task, at) => ({ ...task, branch: `task-${at + 1}` })))(
  'a client $title',
  async ({ act, files, branch }) => {
    const main = (await app.ask('GET', `${studio}/branches/main`)).body.commit;
    const tool = async (name: string, given: object = {}): Promise<Json> => {
      const { isError, content, text } = await callTool(client, name, { ...given });
      expect(isError, `${name}: ${text}`).toBe(false);
      return content;
    };
    await tool('create_branch', { name: branch });
    await act(tool, branch);
    const git = await app.repository();
    const snapshot = await git.snapshot((await app.ask('GET', `${studio}/branches/${branch}`)).body.commit);
    const found: Record<string, string | null> = {};
    for (const path of Object.keys(files)) {
      const { entry } = await snapshot.lookup(path);
      found[path] = entry ? (await snapshot.blob(entry.oid)).toString('utf8') : null;
    }
    expect(found).toEqual(files);
    const { body } = await app.ask('GET', `${studio}/compare?base=main&head=${branch}`);
    const changed = body.files.flatMap((file: Json) => [
      file.path,
      ...(file.previous_path ? [file.previous_path] : []),
    ]);
    expect(changed.sort()).toEqual(Object.keys(files).sort());
    expect((await app.ask('GET', `${studio}/branches/main`)).body.commit).toBe(main);
  },
);

it('a client is asked before something is taken away, and at no other time', () => {
  expect(asked).toEqual([
    expect.stringMatching(/^Delete an entry: delete posts\/de\/alpha at [0-9a-f]{7} from task-9\?$/),
  ]);
});
