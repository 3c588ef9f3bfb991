import { beforeAll, expect, it } from 'vitest';
import { seed, shared, startTestApp } from '../support/app.ts';
import { type Browser, makePerson, signedIn } from '../support/browser.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let id: number;
let editor: Browser;
beforeAll(async () => {
  await seed(app, siteFiles);
  id = await makePerson(app, { email: 'ada@example.org', role: 'editor' });
  editor = await signedIn(app, id);
});

const at = 'organization: "acme", project: "site"';

const save = async (browser: Browser, input: object) => {
  const document = `mutation ($input: SaveToDraftInput!) {
    saveToDraft(${at}, input: $input) {
      branch { name commit { sha message } draft { owner { id name } own base title created_at } }
      commit { sha } unchanged results { op slug } conflicts { path }
    }
  }`;
  return (await browser.graphql(document, { input })).body;
};
const update = (more: object) => ({ op: 'update', collection: 'posts', slug: 'en/alpha', ...more });
const draftsOf = async (browser: Browser, selection = 'name', args = '') =>
  (await browser.graphql(`{ project(${at}) { studio { drafts${args} { nodes { ${selection} } total_count } } } }`)).body
    .data.project.studio.drafts;

it('saves to a draft that bears the number of its owner, never an e-mail address', async () => {
  const { data, errors } = await save(editor, {
    title: 'Frost',
    actions: [update({ frontmatter: { rating: 2 } })],
    idempotency_key: 'f',
  });
  expect(errors).toBeUndefined();
  expect(data.saveToDraft).toEqual({
    branch: {
      name: `draft/${id}-frost`,
      commit: { sha: data.saveToDraft.commit.sha, message: expect.any(String) },
      draft: {
        owner: { id: `user:${id}`, name: 'ada' },
        own: true,
        base: 'main',
        title: 'Frost',
        created_at: expect.any(String),
      },
    },
    commit: { sha: expect.any(String) },
    unchanged: false,
    results: [{ op: 'update', slug: 'en/alpha' }],
    conflicts: null,
  });
});

it('shows others whose a draft is', async () => {
  const other = await signedIn(app, await makePerson(app, { email: 'eve@example.org', role: 'readonly' }));
  expect(await draftsOf(other, 'name can_commit { allowed } ahead_by draft { own owner { name } }')).toEqual({
    nodes: [
      {
        name: `draft/${id}-frost`,
        can_commit: { allowed: false },
        ahead_by: 1,
        draft: { own: false, owner: { name: 'ada' } },
      },
    ],
    total_count: 1,
  });
  expect((await draftsOf(other, 'name', '(own: true)')).total_count).toBe(0);
  expect((await draftsOf(editor, 'name', '(own: true, base: "main")')).total_count).toBe(1);
});

it('gives a conflict as data, and makes no draft of it', async () => {
  const { data } = await save(editor, { actions: [update({ sha: '0'.repeat(40), frontmatter: { rating: 1 } })] });
  expect(data.saveToDraft).toBeNull();
  const first = await app.ask('GET', '/api/v2/organizations/acme/projects/site/studio/collections/posts/en/alpha');
  const body = { frontmatter: { title: 'Theirs' } };
  await app.ask('PUT', '/api/v2/organizations/acme/projects/site/studio/collections/posts/en/alpha', { body });
  const stale = update({ sha: first.body.sha, on_conflict: 'merge', frontmatter: { title: 'Ours' } });
  const conflicted = await save(editor, { actions: [stale] });
  expect(conflicted.data.saveToDraft).toMatchObject({
    branch: null,
    commit: null,
    conflicts: [{ path: 'src/content/posts/en/alpha.md' }],
  });
  expect((await draftsOf(editor)).total_count).toBe(1);
});
