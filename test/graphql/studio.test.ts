import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { getRepository } from '../../src/domain/studio/repository/repository.operations.ts';
import { shared } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const page = (title: string, body = 'Text\n') => `---\ntitle: ${title}\ndraft: false\n---\n\n${body}`;

beforeAll(async () => {
  const files = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`content/posts/post-${String(i).padStart(3, '0')}.md`, page(`Post ${i}`)]),
  );
  await save(
    await app.repository(),
    { ...files, 'content/pages/about.md': page('About'), 'README.md': 'Hello\n' },
    { message: 'First' },
  );
});
beforeEach(() => app.reset());

/** What lies below `studio`, of a document that must succeed. */
const studio = async (selection: string) =>
  (await app.data(`{ project(organization: "acme", project: "site") { studio { ${selection} } } }`)).project.studio;

async function command(field: string, credential = app.full) {
  const { body } = await app.query(`mutation { ${field} }`, { token: credential });
  return body;
}

const at = 'organization: "acme", project: "site"';

describe('studio', () => {
  it('shows the repository', async () => {
    const { repository: shown } = await studio(
      'repository { mode default_branch object_format clone_url size import { state } }',
    );
    expect(shown).toEqual({
      mode: 'hosted',
      default_branch: 'main',
      object_format: 'sha1',
      clone_url: 'http://portico.test/git/acme/site.git',
      size: expect.any(Number),
      import: null,
    });
  });

  it('lists schemas and collections', async () => {
    const { schemas, collections } = await studio(
      'schemas { nodes { collection fields { name type required } source { kind } } } collections { nodes { name entries_count invalid_count schema { collection } } total_count }',
    );
    expect(schemas.nodes.map((schema: { collection: string }) => schema.collection)).toContain('posts');
    expect(schemas.nodes[0].source.kind).toBe('inference');
    expect(collections.nodes).toContainEqual({
      name: 'posts',
      entries_count: 100,
      invalid_count: 0,
      schema: { collection: 'posts' },
    });
  });

  it('needs only browse_studio, and nothing of the project record', async () => {
    const reader = await app.token('acme', ['browse_studio']);
    const { body } = await app.query(
      `{ project(${at}) { studio { collection(name: "pages") { entries { total_count } } } } }`,
      { token: reader },
    );
    expect(body).toEqual({ data: { project: { studio: { collection: { entries: { total_count: 1 } } } } } });
    const refused = await app.query(`{ project(${at}) { studio { repository { mode } } } }`, {
      token: await app.token('acme', ['browse_organization']),
    });
    expect(refused.body.data.project.studio).toEqual({ repository: null });
    expect(refused.body.errors[0].message).toBe('Missing permission: browse_studio');
  });

  it('lists entries by filter, order and words', async () => {
    const { collection } = await studio(
      'collection(name: "posts") { label entries(first: 2, sort: ["-title"], filter: { title: { contains: "Post 1" } }) { nodes { slug title frontmatter } total_count page_info { has_next_page } } }',
    );
    expect(collection.entries.total_count).toBe(11);
    expect(collection.entries.page_info.has_next_page).toBe(true);
    expect(collection.entries.nodes[0]).toEqual({
      slug: 'post-019',
      title: 'Post 19',
      frontmatter: { title: 'Post 19', draft: false },
    });
  });

  it('reads bodies and last commits of a list only when they are requested', async () => {
    const without = await studio('collection(name: "posts") { entries(first: 1) { nodes { slug } } }');
    expect(without.collection.entries.nodes).toEqual([{ slug: 'post-000' }]);
    const { body } = await app.query(
      `{ project(${at}) { studio { collection(name: "posts") { entries(first: 2) { edges { node { ...E } } } } } } } fragment E on EntrySummary { body updated_at updated_by }`,
    );
    const [{ node }] = body.data.project.studio.collection.entries.edges;
    expect(node).toEqual({ body: 'Text\n', updated_at: expect.stringMatching(/^\d{4}-/), updated_by: 'Ada' });
  });

  it('reads one entry and what it leads to', async () => {
    const { entry } = await studio(
      'entry(collection: "pages", slug: "about") { slug title body raw format eol collection { name entries_count } schema { collection label } history { nodes { message author { name } } total_count } }',
    );
    expect(entry).toEqual({
      slug: 'about',
      title: 'About',
      body: 'Text\n',
      raw: page('About'),
      format: 'yaml',
      eol: 'lf',
      collection: { name: 'pages', entries_count: 1 },
      schema: { collection: 'pages', label: expect.any(String) },
      history: { nodes: [{ message: expect.stringContaining('First'), author: { name: 'Ada' } }], total_count: 1 },
    });
  });

  it('reads files, trees and commits', async () => {
    const { file, filetree, commits } = await studio(
      'file(path: "README.md") { name content encoding } filetree(path: "content", depth: 1) { truncated tree { path type } } commits(first: 1) { nodes { message } total_count }',
    );
    expect(file).toEqual({ name: 'README.md', content: 'Hello\n', encoding: 'utf-8' });
    expect(filetree.tree).toEqual([
      { path: 'content/pages', type: 'tree' },
      { path: 'content/posts', type: 'tree' },
    ]);
    expect(commits.nodes[0].message).toContain('First');
  });

  it('says what is missing', async () => {
    const { body } = await app.query(
      `{ project(${at}) { studio { entry(collection: "pages", slug: "none") { slug } branch(name: "none") { name } collection(name: "none") { label } } } }`,
    );
    expect(body.data.project.studio).toEqual({ entry: null, branch: null, collection: null });
    expect(body.errors.map(({ extensions }: { extensions: object }) => extensions)).toMatchObject(
      Array(3).fill({ code: 'NOT_FOUND', reason: 'not_found' }),
    );
  });
});

describe('entries', () => {
  const make = (slug: string, extra = '') =>
    command(
      `createEntry(${at}, input: { collection: "pages", slug: "${slug}", frontmatter: { title: "New", tags: ["a", 1, null] }, body: "Body\\n" ${extra} }) { slug sha path title unchanged commit { sha message author { name email } } record { title collection { name } history { total_count } } }`,
    );

  it('are created, changed on condition, renamed and deleted', async () => {
    const created = (await make('new')).data.createEntry;
    expect(created).toMatchObject({
      slug: 'new',
      path: 'content/pages/new.md',
      unchanged: false,
      commit: { message: expect.stringContaining('Create pages/new'), author: { name: 'Test' } },
      record: { title: 'New', collection: { name: 'pages' }, history: { total_count: 1 } },
    });
    const again = await make('new');
    expect(again.errors[0].extensions).toMatchObject({ code: 'CONFLICT', reason: 'already_exists' });

    const change = (sha: string, title: string) =>
      command(
        `updateEntry(${at}, input: { collection: "pages", entry: "new", frontmatter: { title: "${title}" }, if_match: "${sha}" }) { sha frontmatter body }`,
      );
    const changed = (await change(created.sha, 'Changed')).data.updateEntry;
    expect(changed.frontmatter).toMatchObject({ title: 'Changed', tags: ['a', 1, null] });
    const stale = await change(created.sha, 'Lost');
    expect(stale.data).toEqual({ updateEntry: null });
    expect(stale.errors[0].extensions).toMatchObject({
      code: 'CONFLICT',
      reason: 'precondition_failed',
      details: { current_sha: changed.sha },
    });

    const tags = (count: number) => change(`${changed.sha},`.repeat(count), 'Changed');
    expect((await tags(300)).errors).toBeUndefined();
    expect((await tags(500)).errors[0].message).toBe('If-Match: must be at most 16384 characters');

    const renamed = await command(
      `updateEntry(${at}, input: { collection: "pages", entry: "new", slug: "moved", frontmatter: null, body: null }) { slug renamed_from record { slug title } }`,
    );
    expect(renamed.data.updateEntry).toEqual({
      slug: 'moved',
      renamed_from: 'new',
      record: { slug: 'moved', title: 'Changed' },
    });
    const deleted = await command(
      `deleteEntry(${at}, input: { collection: "pages", entry: "moved" }) { deleted path }`,
    );
    expect(deleted.data.deleteEntry).toEqual({ deleted: true, path: 'content/pages/moved.md' });
  });

  it('are created once under the same key', async () => {
    const [first, second] = [
      await make('keyed', 'idempotency_key: "e1"'),
      await make('keyed', 'idempotency_key: "e1"'),
    ];
    expect(first.errors).toBeUndefined();
    expect(second.data.createEntry.commit).toEqual(first.data.createEntry.commit);
  });

  it('need the permission of the command', async () => {
    const reader = await app.token('acme', ['browse_studio']);
    const body = await command(`deleteEntry(${at}, input: { collection: "pages", entry: "about" }) { path }`, reader);
    expect(body.errors[0]).toMatchObject({
      message: 'Missing permission: delete_studio',
      extensions: { code: 'FORBIDDEN' },
    });
  });

  it('written to a branch are read from it', async () => {
    await command(`createBranch(${at}, input: { name: "draft" }) { name }`);
    const made = await make('on-draft', 'branch: "draft"');
    expect(made.data.createEntry.record.history.total_count).toBe(1);
    const { here, there } = await studio(
      'here: collection(name: "pages") { entries(q: "New") { nodes { slug } } } there: collection(name: "pages", branch: "draft") { entries { nodes { slug schema { collection } } } }',
    );
    const slugs = (list: { entries: { nodes: { slug: string }[] } }) => list.entries.nodes.map(({ slug }) => slug);
    expect(slugs(there)).toContain('on-draft');
    expect(slugs(here)).not.toContain('on-draft');
  });
});

describe('branches', () => {
  it('say whether the caller may commit to them, without asking the database', async () => {
    const reader = await app.token('acme', ['browse_studio']);
    const list = (selection: string) =>
      app.query(`{ project(${at}) { studio { branches(first: 1) { nodes { ${selection} } } } } }`, { token: reader });
    const answer = await list('name can_commit { allowed reason message }');
    expect(answer.body.data.project.studio.branches.nodes).toEqual([
      {
        name: 'main',
        can_commit: { allowed: false, reason: 'forbidden', message: 'Missing permission: edit_studio' },
      },
    ]);
    const without = await app.leastOf(() => list('name'));
    const response = await app.leastOf(() => list('name can_commit { allowed reason }'));
    expect(response.statements.length).toBe(without.statements.length);
  });

  it('are made and lead to their commits', async () => {
    const made = await command(`createBranch(${at}, input: { name: "feature/one" }) { name default commit { sha } }`);
    const { branch, branches } = await studio(
      'branch(name: "feature/one") { name ahead_by behind_by commit { sha message } commits(first: 1) { nodes { sha } } } branches(q: "feature") { nodes { name ahead_by } total_count }',
    );
    const [{ sha }] = branch.commits.nodes;
    expect(made.data.createBranch).toEqual({ name: 'feature/one', default: false, commit: { sha } });
    expect(branch).toMatchObject({ ahead_by: 0, behind_by: 0, commit: { sha } });
    expect(branches).toEqual({ nodes: [{ name: 'feature/one', ahead_by: 0 }], total_count: 1 });
  });
});

describe('schemas', () => {
  it('are refreshed, with or without an input', async () => {
    const body = await command(`refreshSchemas(${at}) { refreshed commit schemas { collection } added }`);
    expect(body.data.refreshSchemas).toMatchObject({ refreshed: true, added: [] });
    const other = await command(`refreshSchemas(${at}, input: { branch: "main" }) { refreshed }`);
    expect(other.data.refreshSchemas).toEqual({ refreshed: true });
  });
});

describe('an import', () => {
  it('goes only into an empty repository', async () => {
    const body = await command(`importRepository(${at}, input: { url: "https://example.org/site.git" }) { mode }`);
    expect(body.errors[0].extensions).toMatchObject({ code: 'CONFLICT', reason: 'already_exists' });
    await command(`createProject(organization: "acme", input: { name: "Empty" }) { name }`);
    // No queue runs here: that the job does its work is tested with the jobs.
    app.services.jobs = { send: async () => {}, sendMany: async () => {} };
    const begun = await command(
      'importRepository(organization: "acme", project: "empty", input: { url: "https://example.org/site.git" }) { hook_secret import { state url } }',
    );
    expect(begun.data.importRepository.hook_secret).toBeNull();
    expect(begun.data.importRepository.import).toEqual({ state: 'queued', url: 'https://example.org/site.git' });
    expect(await app.run(getRepository, { organization: 'acme', project: 'empty' })).toMatchObject({
      import: { state: 'queued' },
    });
    const { data } = await command('cancelImport(organization: "acme", project: "empty") { import { state message } }');
    expect(data.cancelImport.import).toEqual({ state: 'failed', message: 'The import was cancelled' });
  });
});

describe('a document that reads a branch in many places', () => {
  const document = `collection(name: "posts") { name entries(first: 1) { total_count } }
    pages: collection(name: "pages") { entries(first: 1) { total_count } }
    file(path: "README.md") { sha } commits(first: 1) { nodes { sha } }`;

  it('reads its head once, so that all is of one commit', async () => {
    // What follows the branches of other tests reads heads, too.
    await app.services.studio.moves.settled();
    const heads = vi.spyOn(await app.repository(), 'head');
    const { collection, pages, commits } = await studio(document);
    expect(collection.entries.total_count).toBe(100);
    expect(pages.entries.total_count).toBeGreaterThan(0);
    expect(commits.nodes).toHaveLength(1);
    expect(heads.mock.calls).toEqual([['main']]);
    heads.mockRestore();
  });

  it('reads it again in the next request', async () => {
    const { commit } = await save(await app.repository(), { 'README.md': 'Hello again\n' });
    const { commits } = await studio(document);
    expect(commits.nodes).toEqual([{ sha: commit?.sha }]);
  });

  it('finds a collection without reading its record where no field of that is selected', async () => {
    await studio('collection(name: "posts") { __typename entries(first: 1) { total_count } }');
    expect(app.operations).toEqual(['projects.locateProject', 'studio.locateCollection', 'studio.listEntries']);
    app.reset();
    const { body } = await app.query(
      `{ project(${at}) { studio { collection(name: "posts") { ...F } } } }
       fragment F on Collection { ... { ...G } } fragment G on Collection { label }`,
    );
    expect(body.data.project.studio.collection).toEqual({ label: 'Posts' });
    expect(app.operations).toEqual(['projects.locateProject', 'studio.getCollection']);
  });

  it('is null with NOT_FOUND for a collection that is unknown, whatever is selected of it', async () => {
    for (const selection of ['name', 'entries { total_count }']) {
      const { body } = await app.query(`{ project(${at}) { studio { collection(name: "none") { ${selection} } } } }`);
      expect(body.data.project.studio).toEqual({ collection: null });
      expect(body.errors).toMatchObject([
        { path: ['project', 'studio', 'collection'], extensions: { code: 'NOT_FOUND' } },
      ]);
    }
  });
});

describe('edges of a list', () => {
  const entries = (first: number) =>
    studio(
      `collection(name: "posts") { entries(first: ${first}) { nodes { slug collection { name label } schema { label fields { name } } } } }`,
    );

  it('cost as many operations and statements for 1 row as for 100', async () => {
    app.services.grants.setListening(true);
    const one = await app.leastOf(() => entries(1));
    const all = await app.leastOf(async () => {
      const { collection } = await entries(100);
      expect(collection.entries.nodes).toHaveLength(100);
    });
    expect(all).toEqual(one);
    expect(one.operations).toEqual([
      'projects.locateProject',
      'studio.getCollection',
      'studio.getSchema',
      'studio.listEntries',
      'studio.locateCollection',
    ]);
    app.services.grants.setListening(false);
  });

  it('are fetched together: the commits of all branches at once', async () => {
    const git = await app.repository();
    const head = (await git.head('main')) ?? '';
    for (let i = 0; i < 100; i++) {
      const tip = await save(git, { 'README.md': `Hello ${i}\n` });
      await git.createBranch(`many-${i}`, tip.commit?.sha ?? head);
    }
    app.reset();
    const { branches } = await studio('branches(q: "many", first: 100) { nodes { name commit { sha message } } }');
    expect(new Set(branches.nodes.map(({ commit }: { commit: { sha: string } }) => commit.sha)).size).toBe(100);
    expect(app.operations).toEqual(['projects.locateProject', 'studio.listBranches', 'studio.getCommits']);
  });
});

describe('12 levels', () => {
  const nested = (levels: number): string => (levels === 0 ? 'name' : `name fields { ${nested(levels - 1)} }`);
  // project, studio, collection, schema and the innermost name are five.
  const document = (levels: number) =>
    `{ project(${at}) { studio { collection(name: "posts") { schema { ${nested(levels - 5)} } } } } }`.replace(
      'schema { name',
      'schema {',
    );

  it('pass, and 13 do not', async () => {
    expect((await app.query(document(12))).body.errors).toBeUndefined();
    const { body } = await app.query(document(13));
    expect(body.errors[0].extensions).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      details: { limit: 'depth', maximum: 12, actual: 13 },
    });
  });
});
