import { beforeAll, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
const drafts = '/p/acme/site/drafts';
const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };

beforeAll(async () => {
  await seedPosts(dashboard.app);
});

/** A draft in which a post has other fields and another text. */
async function draftWith(name: string, slug: string, changed: Record<string, unknown>, body?: string): Promise<void> {
  await makeBranch(dashboard.app, name);
  const title = slug.toUpperCase();
  await commitTo(dashboard.app, name, { [postPath(slug)]: post({ ...fields, title, ...changed }, body) });
}

test('a draft is made by its name, shows in the list, and is deleted after a confirmation', async () => {
  const page = await dashboard.open(drafts);
  await page.getByText('There are no drafts').waitFor();
  await expectGoodPage(page);
  await page.getByRole('button', { name: 'New draft' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Spring <b>campaign</b>: part 1');
  await page.getByText('In git: Spring-<b>campaign</b>-part-1').waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill('Spring campaign');
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.waitForURL('**/content?draft=Spring-campaign');
  await page.getByRole('link', { name: 'Drafts', exact: true }).click();
  const row = page.getByRole('row', { name: /Spring campaign/ });
  await row.getByText('As published').waitFor();
  await row.getByRole('button', { name: 'More for Spring campaign' }).click();
  await page.getByRole('menuitem', { name: 'Delete …' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Spring campaign is deleted').waitFor();
  await row.waitFor({ state: 'detached' });
  const { Drafts } = await dashboard.statementsOf(page);
  expect(Drafts).toBeLessThanOrEqual(12);
});

test('a draft that is made after the list was read, and before its changes are followed, shows in the list', async () => {
  const page = await dashboard.open('/account');
  const held = Promise.withResolvers<void>();
  await page.route('**/graphql', async (route) => {
    if (/subscription Watch\b/.test(route.request().postData() ?? '')) await held.promise;
    await route.fallback();
  });
  const followed = page.waitForRequest((request) => /subscription Watch\b/.test(request.postData() ?? ''));
  await page.goto(`${dashboard.app.url}${drafts}`);
  await page.getByText('There are no drafts').waitFor();
  await followed;
  const other = await dashboard.open(drafts);
  await other.getByText('There are no drafts').waitFor();
  await makeBranch(dashboard.app, 'between');
  // When it shows there, its announcement is over.
  await other.getByRole('row', { name: /between/ }).waitFor();
  held.resolve();
  await page.getByRole('row', { name: /between/ }).waitFor();
});

test('a draft is not said to be gone before its version of the frame is there', async () => {
  await makeBranch(dashboard.app, 'awaited');
  const page = await dashboard.open('/p/acme/site/content');
  const held = Promise.withResolvers<void>();
  const isFrame = (body: string | null) => /query ProjectFrame\b/.test(body ?? '') && body?.includes('awaited');
  await page.route('**/graphql', async (route) => {
    if (isFrame(route.request().postData())) await held.promise;
    await route.fallback();
  });
  const requested = page.waitForRequest((request) => isFrame(request.postData()) === true);
  await page.getByRole('button', { name: 'Published version' }).click();
  await page.getByRole('menuitem', { name: 'awaited' }).click();
  await page.waitForURL('**/content?draft=awaited');
  await requested;
  await page.getByRole('button', { name: 'awaited' }).waitFor();
  expect(await page.getByText('This draft does not exist any more').count()).toBe(0);
  held.resolve();
  await page
    .getByRole('region', { name: 'The version you work in' })
    .getByRole('link', { name: /change/ })
    .waitFor();
  expect(await page.getByText('This draft does not exist any more').count()).toBe(0);
});

test('a draft is begun from the published version by the menu of the bar', async () => {
  await makeBranch(dashboard.app, 'known');
  const page = await dashboard.open('/p/acme/site/content');
  await page.getByRole('button', { name: 'Published version' }).click();
  await page.getByRole('menuitem', { name: 'known' }).waitFor();
  await page.getByRole('menuitem', { name: 'New draft' }).click();
  const dialog = page.getByRole('dialog', { name: 'New draft' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForURL('**/drafts');
  await page.getByRole('main').getByRole('button', { name: 'New draft' }).click();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('From the bar');
  await dialog.getByRole('button', { name: 'Create draft' }).click();
  await page.waitForURL('**/content?draft=From-the-bar');
});

test('a draft is compared with the published version by field and by line, and what cannot be seen stands as marks', async () => {
  await draftWith(
    'hidden',
    'a',
    { title: 'Be\u202eware\u200b' },
    'First line.\n\nAnother <script>alert(1)</script>.\n',
  );
  const page = await dashboard.open(`${drafts}/changes?draft=hidden`);
  await page.getByRole('button', { name: /Posts \/ a/ }).click();
  const title = page.getByRole('row', { name: /^Title/ });
  await title.getByText('U+202E').waitFor();
  await title.getByText('U+200B').waitFor();
  await page.getByRole('button', { name: 'Compare by line' }).click();
  const lines = page.getByRole('region', { name: /posts\/a\.md/ });
  await lines.getByText('Another <script>alert(1)</script>.').waitFor();
  await expectGoodPage(page);
  await page.getByText('Side by side').click();
  expect(await lines.getByRole('table').getAttribute('data-layout')).toBe('split');
  await expectGoodPage(page);
  const { DraftChanges } = await dashboard.statementsOf(page);
  expect(DraftChanges).toBeLessThanOrEqual(12);
});

test('conflicts of a review are settled field by field, by hand too, and it is published', async () => {
  await draftWith('ours', 'b', { title: 'Ours', description: 'Ours too', weight: 2 }, 'First line.\n\nOurs.\n');
  const theirs = { ...fields, title: 'Theirs', description: 'Theirs too', weight: 3 };
  await commitTo(dashboard.app, 'main', { [postPath('b')]: post(theirs, 'First line.\n\nTheirs.\n') });
  const page = await dashboard.open(`${drafts}/changes?draft=ours`);
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('button', { name: 'Resolve conflicts' }).click();
  await page.getByRole('heading', { name: 'Conflicts' }).waitFor();
  await expectGoodPage(page);
  const publish = page.getByRole('main').getByRole('button', { name: 'Publish', exact: true });
  expect(await publish.isDisabled()).toBe(true);
  await page.getByRole('radiogroup', { name: 'title' }).getByRole('radio', { name: 'This draft' }).check();
  await page.getByRole('radiogroup', { name: 'description' }).getByRole('radio', { name: 'Published version' }).check();
  await page.getByRole('radiogroup', { name: 'weight' }).getByRole('radio', { name: 'By hand' }).check();
  await page.getByRole('textbox', { name: 'By hand: weight' }).fill('[');
  await page.getByText('This is no value').waitFor();
  await page.getByRole('textbox', { name: 'By hand: weight' }).fill('2.5');
  await page.getByRole('radiogroup', { name: 'Text, from line' }).getByRole('radio', { name: 'This draft' }).check();
  await publish.click();
  await page.getByText('Published: ours').waitFor();
  const { body } = await dashboard.app.ask('GET', `${studio}/collections/posts/b`);
  expect(body.frontmatter).toMatchObject({ title: 'Ours', description: 'Theirs too', weight: 2.5 });
  expect(body.body).toContain('Ours.');
});

test('a draft is brought up to date with what was published since, with its conflicts settled by keyboard', async () => {
  await draftWith('late', 'c', { title: 'Late' });
  await commitTo(dashboard.app, 'main', { [postPath('c')]: post({ ...fields, title: 'Early' }) });
  const page = await dashboard.open(`${drafts}/changes?draft=late`);
  await page.getByText('1 published version missing').waitFor();
  await page.getByRole('button', { name: 'Update draft' }).press('Enter');
  const draft = page.getByRole('radio', { name: 'This draft' });
  await draft.focus();
  await page.keyboard.press('Space');
  await page.getByText('1 of 1 settled').waitFor();
  await page.getByRole('button', { name: 'Update draft' }).press('Enter');
  await page.getByText('The draft has everything that is published.').waitFor();
});

test('what another person does to a review is seen without loading the page anew', async () => {
  await draftWith('together', 'd', { title: 'Together' });
  const review = { head: 'together', title: 'Together' };
  const { body } = await dashboard.app.ask('POST', `${studio}/pulls`, { body: review });
  const one = await dashboard.open(`${drafts}/reviews/${body.number}`);
  const other = await dashboard.open(`${drafts}?tab=reviews`, { email: 'bob@example.org', role: 'editor' });
  await one.getByRole('button', { name: 'Close without publishing' }).waitFor();
  await expectGoodPage(one);
  await other.getByRole('link', { name: /Together/ }).click();
  await other.getByRole('button', { name: 'Close without publishing' }).click();
  await other.getByRole('button', { name: 'Open again' }).waitFor();
  await one.getByRole('button', { name: 'Open again' }).click();
  await other.getByRole('button', { name: 'Close without publishing' }).waitFor();
});

test('a draft that is deleted meanwhile is said to be gone, and leads to the published version', async () => {
  await makeBranch(dashboard.app, 'gone');
  const page = await dashboard.open('/p/acme/site/content?draft=gone', { size: narrow });
  await page.getByText('What you save goes into this draft').waitFor();
  const { status } = await dashboard.app.ask('DELETE', `${studio}/branches/gone`);
  expect(status).toBe(204);
  await page.getByRole('button', { name: 'Go to published version' }).click();
  await page.getByText('What you save is published at once.').waitFor();
});

test('someone who may only read has no buttons that change anything', async () => {
  await makeBranch(dashboard.app, 'seen');
  const page = await dashboard.open(`${drafts}?draft=seen`, { email: 'eve@example.org', role: 'readonly' });
  await page.getByRole('row', { name: /seen/ }).waitFor();
  await page.getByText('You may read here').waitFor();
  expect(await page.getByRole('button', { name: /New draft|Publish|More for/ }).count()).toBe(0);
});
