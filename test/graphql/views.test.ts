import { expect, it } from 'vitest';
import { shared, startTestApp } from '../support/app.ts';
import { type Browser, makePerson, signedIn } from '../support/browser.ts';

const app = shared(startTestApp);
const ada = shared(async () => signedIn(app, await makePerson(app, { email: 'ada@example.org', role: 'owner' })));
const eddie = shared(async () => signedIn(app, await makePerson(app, { email: 'eddie@example.org', role: 'editor' })));

const at = 'organization: "acme", project: "site"';
const record = 'id name collection query shared owner_name own';

const save = async (browser: Browser, input: object) => {
  const document = `mutation ($input: SaveViewInput!) { saveView(${at}, input: $input) { ${record} } }`;
  return (await browser.graphql(document, { input })).body;
};
const remove = async (browser: Browser, view_id: number) => {
  const document = `mutation ($input: DeleteViewInput!) { deleteView(${at}, input: $input) { name } }`;
  return (await browser.graphql(document, { input: { view_id } })).body;
};
const views = async (browser: Browser, args = '') => {
  const document = `{ project(${at}) { studio { views${args} { nodes { ${record} } total_count } } } }`;
  return (await browser.graphql(document)).body.data.project.studio.views.nodes as { name: string; id: number }[];
};
const namesOf = async (browser: Browser, args = '') => (await views(browser, args)).map(({ name }) => name);

it('shows views to who saved them, and shared ones to everybody in the project', async () => {
  const query = { q: 'frost', filter: { author: { eq: 'ada' } }, columns: ['author'] };
  const { data, errors } = await save(ada, { name: 'Late', collection: 'posts', query });
  expect(errors).toBeUndefined();
  expect(data.saveView).toMatchObject({ name: 'Late', query, shared: false, owner_name: 'ada', own: true });
  await save(ada, { name: 'For all', collection: 'posts', query: {}, shared: true });
  await save(eddie, { name: 'Mine', collection: 'pages', query: {} });
  expect(await namesOf(ada)).toEqual(['For all', 'Late']);
  expect(await namesOf(eddie)).toEqual(['For all', 'Mine']);
  expect(await namesOf(eddie, '(collection: "pages")')).toEqual(['Mine']);
  expect(await views(eddie, '(collection: "posts")')).toMatchObject([{ name: 'For all', own: false }]);
});

it('saves a view in the place of the one of the same name', async () => {
  const first = (await save(eddie, { name: 'Again', collection: 'posts', query: { q: 'a' } })).data.saveView;
  const second = (await save(eddie, { name: 'Again', collection: 'posts', query: { q: 'b' } })).data.saveView;
  expect(second).toEqual({ ...first, query: { q: 'b' } });
  await remove(eddie, first.id);
});

it('needs manage_studio for shared views', async () => {
  const { errors } = await save(eddie, { name: 'Pushy', collection: 'posts', query: {}, shared: true });
  expect(errors[0].extensions.code).toBe('FORBIDDEN');
  const [shared] = await views(ada, '(collection: "posts")');
  expect((await remove(eddie, shared?.id ?? 0)).errors[0].extensions.code).toBe('FORBIDDEN');
  const [mine] = await views(eddie, '(collection: "pages")');
  expect((await remove(ada, mine?.id ?? 0)).errors[0].extensions.code).toBe('NOT_FOUND');
  expect((await remove(ada, shared?.id ?? 0)).data.deleteView).toEqual({ name: 'For all' });
  expect(await namesOf(eddie)).toEqual(['Mine']);
});

it('bounds names, queries and how many there are', async () => {
  const long = { name: 'x', collection: 'posts', query: { q: 'x'.repeat(4096) } };
  expect((await save(ada, long)).errors[0].message).toContain('query: must be at most 4096 bytes');
  expect((await save(ada, { ...long, query: {}, name: 'x'.repeat(81) })).errors[0].message).toContain('80');
  const before = (await views(ada)).length;
  for (let at = before; at < 100; at += 1) await save(ada, { name: `View ${at}`, collection: 'posts', query: {} });
  const { errors } = await save(ada, { name: 'One more', collection: 'posts', query: {} });
  expect(errors[0].extensions).toMatchObject({ code: 'CONFLICT', reason: 'limit_reached' });
  expect((await save(ada, { name: 'View 99', collection: 'posts', query: { q: 'c' } })).errors).toBeUndefined();
});
