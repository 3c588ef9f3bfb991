import { beforeAll, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(graphqlApp);

beforeAll(async () => {
  await save(await app.repository(), siteFiles);
});

const commit = async (input: object, credential = app.full) => {
  const document = `mutation ($input: CommitChangesInput!) {
    commitChanges(organization: "acme", project: "site", input: $input) {
      commit { sha message } unchanged results { op collection slug path sha unchanged renamed_from warnings { code } }
      conflicts { path fields { field } }
    }
  }`;
  return (await app.query(document, { token: credential, variables: { input } })).body;
};
const update = (more: object) => ({ op: 'update', collection: 'posts', slug: 'en/alpha', ...more });

it('commits several actions at once, once for a key', async () => {
  const actions = [
    { op: 'create', collection: 'posts', slug: 'en/new', frontmatter: { title: 'New', author: 'ada' }, body: 'x' },
    { op: 'move', collection: 'posts', slug: 'en/beta', to: 'en/second' },
  ];
  const input = { actions, message: 'Both', idempotency_key: 'k1' };
  const first = await commit(input);
  expect(first).toMatchObject({
    data: {
      commitChanges: {
        commit: { message: expect.stringMatching(/^Both/) },
        unchanged: false,
        results: [
          { op: 'create', collection: 'posts', slug: 'en/new', unchanged: false, warnings: [] },
          { op: 'move', slug: 'en/second', renamed_from: 'en/beta' },
        ],
        conflicts: null,
      },
    },
  });
  expect(await commit(input)).toEqual(first);
});

it('gives a conflict as data', async () => {
  const { results } = (await commit({ actions: [update({ frontmatter: { rating: 1 } })] })).data.commitChanges;
  await commit({ actions: [update({ frontmatter: { title: 'Theirs' } })] });
  const stale = update({ sha: results[0].sha, on_conflict: 'merge', frontmatter: { title: 'Ours' } });
  expect((await commit({ actions: [stale] })).data.commitChanges).toEqual({
    commit: null,
    unchanged: true,
    results: [],
    conflicts: [{ path: 'src/content/posts/en/alpha.md', fields: [{ field: '/title' }] }],
  });
});

it('says which action is refused, and what it needs', async () => {
  const bad = await commit({ actions: [update({}), { op: 'delete', collection: 'posts', slug: 'none' }] });
  expect(bad.errors[0]).toMatchObject({
    message: 'actions.1: posts has no entry none',
    extensions: { code: 'NOT_FOUND', details: { errors: [{ field: '/actions/1' }] } },
  });
  const malformed = await commit({ actions: [{ op: 'burn' }] });
  expect(malformed.errors[0]).toMatchObject({ message: expect.stringMatching(/^actions\.0\.op: must be one of/) });
  const editor = await app.token('acme', ['edit_studio']);
  const refused = await commit({ actions: [{ op: 'delete', collection: 'posts', slug: 'en/alpha' }] }, editor);
  expect(refused.errors[0]).toMatchObject({ message: 'Missing permission: delete_studio' });
});
