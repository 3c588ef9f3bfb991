import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(graphqlApp);

const at = 'organization: "acme", project: "site"';
const gamma = siteFiles['src/content/posts/en/deep/gamma.md'] ?? '';

beforeAll(async () => {
  const shows =
    '---\ntitle: Shows\nauthor: bob\n---\n\n![](/logo.svg) and ![](./near%20by.png) and ![](https://x.test/far.png)\n';
  await save(await app.repository(), {
    ...siteFiles,
    'src/content/posts/en/shows.md': shows,
    'src/content/posts/en/near by.png': 'x',
  });
  for (const name of ['feature', 'other']) await command(`createBranch(${at}, input: { name: "${name}" }) { name }`);
  const edit = 'collection: "posts", entry: "en/deep/gamma", body: "Changed\\n", branch: "feature"';
  await command(`updateEntry(${at}, input: { ${edit} }) { slug }`);
  await command(`createPull(${at}, input: { title: "First", head: "feature" }) { number }`);
});
beforeEach(() => app.reset());

const command = (field: string) => app.data(`mutation { ${field} }`);

/** What lies below `studio`, of a document that must succeed. */
const studio = async (selection: string) =>
  (await app.data(`{ project(${at}) { studio { ${selection} } } }`)).project.studio;

const ran = (name: string) => app.operations.filter((operation) => operation === `studio.${name}`).length;

describe('an entry', () => {
  it('leads to what it names, to its translations, and to the files it shows', async () => {
    const { alpha, shows } = await studio(`
      alpha: entry(collection: "posts", slug: "en/alpha") {
        references { field required id collection slug path } translations { slug locale collection { name } }
      }
      shows: entry(collection: "posts", slug: "en/shows") { media { path mime public_path } translations { slug } }`);
    expect(alpha).toEqual({
      references: [
        {
          field: '/author',
          required: true,
          id: 'ada',
          collection: 'authors',
          slug: 'ada',
          path: 'src/content/authors/ada.yaml',
        },
      ],
      translations: [{ slug: 'de/alpha', locale: 'de', collection: { name: 'posts' } }],
    });
    expect(shows).toEqual({
      media: [
        { path: 'public/logo.svg', mime: 'image/svg+xml', public_path: '/logo.svg' },
        { path: 'src/content/posts/en/near by.png', mime: 'image/png', public_path: null },
      ],
      translations: [],
    });
  });

  it('names what is not there', async () => {
    const repository = await app.repository();
    await save(repository, { 'src/content/posts/en/lost.md': '---\ntitle: Lost\nauthor: nobody\n---\n' });
    const { entry } = await studio('entry(collection: "posts", slug: "en/lost") { references { id slug path } }');
    expect(entry.references).toEqual([{ id: 'nobody', slug: null, path: null }]);
  });

  it('is named by others, page by page', async () => {
    const page = async (after: string | null) => {
      const args = `first: 3, after: ${JSON.stringify(after)}`;
      const { entry } = await studio(`entry(collection: "authors", slug: "ada") {
        referenced_by(${args}) { total_count page_info { end_cursor has_next_page } nodes { collection slug field required } }
      }`);
      return entry.referenced_by;
    };
    const first = await page(null);
    const second = await page(first.page_info.end_cursor);
    expect(first).toMatchObject({ total_count: 4, page_info: { has_next_page: true } });
    expect([...first.nodes, ...second.nodes]).toEqual(
      ['de/alpha', 'en/alpha', 'en/beta', 'en/deep/gamma'].map((slug) => ({
        collection: 'posts',
        slug,
        field: '/author',
        required: true,
      })),
    );
  });
});

describe('several entries', () => {
  it('are looked up once for what names any of them, without those among them', async () => {
    const { referrers } = await studio(
      `referrers(collection: "authors", slugs: ["ada", "gone"]) { named slug required }`,
    );
    expect(referrers).toContainEqual({ named: 'ada', slug: 'en/alpha', required: true });
    expect(new Set(referrers.map(({ named }: { named: string }) => named))).toEqual(new Set(['ada']));
    const { referrers: inside } = await studio(`referrers(collection: "posts", slugs: ["en/alpha"]) { slug }`);
    expect(inside.map(({ slug }: { slug: string }) => slug)).not.toContain('en/alpha');
  });
});

describe('a list of entries', () => {
  it('asks once for what all of them lead to', async () => {
    const { collection } = await studio(`collection(name: "posts") {
      entries { nodes { slug references { slug } translations { slug schema { collection } } media { path } } }
    }`);
    expect(collection.entries.nodes.length).toBeGreaterThan(4);
    expect(collection.entries.nodes).toContainEqual({
      slug: 'en/alpha',
      references: [{ slug: 'ada' }],
      translations: [{ slug: 'de/alpha', schema: { collection: 'posts' } }],
      media: [],
    });
    for (const name of ['listReferences', 'listTranslations', 'listEntryMedia', 'getSchema']) expect(ran(name)).toBe(1);
  });

  it('is filtered, sorted and paged', async () => {
    const { collection } = await studio(
      `collection(name: "posts") {
      entries(filter: { tags: { contains: "two" } }, sort: ["-title"], draft: without, locale: "en", q: "alpha", first: 1) {
        nodes { slug } total_count
      }
    }`,
    );
    expect(collection.entries).toEqual({ nodes: [{ slug: 'en/alpha' }], total_count: 1 });
  });
});

describe('a search', () => {
  it('goes through all collections, in their order, page by page', async () => {
    const find = async (args: string) =>
      (
        await studio(`search(${args}) {
      nodes { collection { name } slug } total_count page_info { end_cursor }
    }`)
      ).search;
    const all = await find('q: "ada"');
    const names = all.nodes.map(({ collection, slug }: { collection: { name: string }; slug: string }) => [
      collection.name,
      slug,
    ]);
    expect(names).toEqual([
      ['authors', 'ada'],
      ['posts', 'de/alpha'],
      ['posts', 'en/alpha'],
      ['posts', 'en/beta'],
      ['posts', 'en/deep/gamma'],
    ]);
    const first = await find('q: "ad", first: 2');
    const second = await find(`q: "ad", first: 100, after: "${first.page_info.end_cursor}"`);
    expect([...first.nodes, ...second.nodes]).toEqual(all.nodes);
    expect((await find('q: "changed", branch: "feature"')).nodes).toEqual([
      { collection: { name: 'posts' }, slug: 'en/deep/gamma' },
    ]);
    expect(await find('q: "changed"')).toMatchObject({ nodes: [], total_count: 0 });
  });

  it('needs a word', async () => {
    const { body } = await app.query(`{ project(${at}) { studio { search(q: " ") { total_count } } } }`);
    const message = 'q: must not be empty, unless `collection` is given';
    expect(body.errors[0]).toMatchObject({ message, extensions: { code: 'BAD_USER_INPUT' } });
    const all = await app.query(`{ project(${at}) { studio { search(collection: "authors") { total_count } } } }`);
    expect(all.body.data.project.studio.search.total_count).toBeGreaterThan(0);
  });
});

describe('a draft', () => {
  it('is judged without being saved', async () => {
    const { good, bad } = await studio(`
      good: validate(collection: "posts", frontmatter: { title: "T", author: "ada" }, body: "x", slug: "en/new") { valid errors { field } }
      bad: validate(collection: "posts", frontmatter: { title: 5 }, branch: "feature") { valid errors { field code message } warnings { code } }`);
    expect(good).toEqual({ valid: true, errors: [] });
    expect(bad).toMatchObject({
      valid: false,
      errors: [{ field: '/frontmatter/title', code: 'type' }, { code: 'required' }],
    });
  });
});

describe('branches', () => {
  it('lead to their pull requests, loaded once, and to what they have that the default branch lacks', async () => {
    const { branches } = await studio(`branches {
      nodes { name pulls { number title head_branch { name } } compare_to_default { status ahead_by files { path fields } } }
    }`);
    expect(branches.nodes).toMatchObject([
      { name: 'main', pulls: [], compare_to_default: { status: 'identical', files: [] } },
      {
        name: 'feature',
        pulls: [{ number: 1, title: 'First', head_branch: { name: 'feature' } }],
        compare_to_default: { ahead_by: 1, files: [{ path: 'src/content/posts/en/deep/gamma.md', fields: [] }] },
      },
      { name: 'other', pulls: [] },
    ]);
    expect([ran('listPullsOfBranches'), ran('getBranches'), ran('compareBranches')]).toEqual([1, 1, 3]);
  });
});

describe('pull requests', () => {
  const edges = `number head_branch { name commit { message } } base_branch { name default }
    commits { nodes { message } total_count } files { nodes { path collection slug } } conflicts { path }`;

  it('lead to their branches, commits, files and conflicts, alone and in a list', async () => {
    const { pull, pulls } = await studio(`pull(number: 1) { ${edges} } pulls(first: 5) { nodes { ${edges} } }`);
    const message = expect.stringMatching(/^Update posts\/en\/deep\/gamma/);
    expect(pull).toEqual({
      number: 1,
      head_branch: { name: 'feature', commit: { message } },
      base_branch: { name: 'main', default: true },
      commits: { nodes: [{ message }], total_count: 1 },
      files: { nodes: [{ path: 'src/content/posts/en/deep/gamma.md', collection: 'posts', slug: 'en/deep/gamma' }] },
      conflicts: [],
    });
    expect(pulls.nodes).toEqual([pull]);
    expect(ran('getBranches')).toBe(1);
  });

  it('say what a merge would meet', async () => {
    await save(await app.repository(), { 'src/content/posts/en/deep/gamma.md': gamma.replace('Gamma body', 'Theirs') });
    const { pulls } = await studio('pulls { nodes { conflicts { path type } } }');
    expect(pulls.nodes).toEqual([{ conflicts: [{ path: 'src/content/posts/en/deep/gamma.md', type: 'body' }] }]);
  });
});

describe('the limits', () => {
  it('count what is dear as such', async () => {
    const page = (fields: string) =>
      app.query(`{ project(${at}) { studio { branches(first: 100) { nodes { ${fields} } } } } }`);
    expect((await page('name compare_to_default { status }')).status).toBe(200);
    const { body } = await page(
      'name a: compare_to_default { status } b: compare_to_default { status } c: compare_to_default { status }',
    );
    expect(body.errors[0]).toMatchObject({ extensions: { code: 'LIMIT_EXCEEDED', details: { limit: 'cost' } } });
  });
});

describe('entries that a hub names in two fields', () => {
  const names = Array.from({ length: 100 }, (_, at) => `a${at}`);
  const config = siteFiles['src/content.config.ts'] ?? '';

  beforeAll(async () => {
    const hub = { title: 'Hub', readers: names, author: 'a0', editors: names };
    const fields =
      "readers: z.array(reference('authors')).optional(),\n    editors: z.array(reference('authors')),\n    ";
    await command(`createBranch(${at}, input: { name: "hub" }) { name }`);
    await save(
      await app.repository(),
      {
        ...Object.fromEntries(names.map((name) => [`src/content/authors/${name}.yaml`, `name: ${name}\n`])),
        'src/content.config.ts': config.replace('author: reference', `${fields}author: reference`),
        'src/content/posts/en/hub.md': `---\n${JSON.stringify(hub)}\n---\n`,
        'src/content/posts/en/many.md': `---\n${JSON.stringify({ ...hub, readers: Array(150).fill('a1') })}\n---\n`,
      },
      { branch: 'hub' },
    );
  });

  it('are listed with what requires them before what does not', async () => {
    const { referrers } = await studio(
      `referrers(collection: "authors", slugs: ${JSON.stringify(names)}, branch: "hub") { field required slug }`,
    );
    expect(referrers).toHaveLength(100);
    expect(referrers.every(({ required }: { required: boolean }) => required)).toBe(true);
  });

  it('are counted with all places that name one', async () => {
    const { entry } = await studio(
      'entry(collection: "authors", slug: "a1", branch: "hub") { referenced_by(first: 100) { total_count nodes { field slug } } }',
    );
    expect(entry.referenced_by.total_count).toBe(153);
    expect(entry.referenced_by.nodes.slice(0, 3)).toEqual([
      { field: '/readers/1', slug: 'en/hub' },
      { field: '/editors/1', slug: 'en/hub' },
      { field: '/readers/0', slug: 'en/many' },
    ]);
  });
});
