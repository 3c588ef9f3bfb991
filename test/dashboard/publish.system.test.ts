import { beforeAll, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };

beforeAll(async () => {
  await seedPosts(dashboard.app);
});

/** A draft in which a post has another title. */
async function draftOf(name: string, slug: string, title: string): Promise<void> {
  await makeBranch(dashboard.app, name);
  await commitTo(dashboard.app, name, { [postPath(slug)]: post({ ...fields, title }) });
}

const titleOf = async (slug: string) =>
  (await dashboard.app.ask('GET', `${studio}/collections/posts/${slug}`)).body.frontmatter.title;

test('a draft is published in one action from any page, which goes back to the published version', async () => {
  await draftOf('spring', 'a', 'Spring');
  await dashboard.app.ask('POST', `${studio}/environments`, { body: { name: 'Live', branch: 'main' } });
  const page = await dashboard.open('/p/acme/site/files?draft=spring');
  const strip = page.getByRole('region', { name: 'The version you work in' });
  await strip.getByRole('link', { name: '1 change' }).waitFor();
  await strip.getByRole('button', { name: 'Publish' }).click();
  const sheet = page.getByRole('dialog', { name: 'Publish: spring' });
  await sheet.getByText('It fits the published version.').waitFor();
  await sheet.getByText('No new faults').waitFor();
  await sheet.getByText('Live is deployed by itself.').waitFor();
  await sheet.getByRole('button', { name: /Posts \/ a/ }).click();
  await sheet.getByRole('row', { name: /Title/ }).getByText('Spring').waitFor();
  await sheet.getByRole('textbox', { name: 'What is published' }).fill('Spring is here');
  await expectGoodPage(page);
  const { PublishSheet } = await dashboard.statementsOf(page);
  expect(PublishSheet).toBeLessThanOrEqual(12);
  await sheet.getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Published: Spring is here').waitFor();
  await page.waitForURL('**/p/acme/site/files');
  await page.getByText('Live: waiting to be deployed').waitFor();
  expect(await titleOf('a')).toBe('Spring');
  expect((await dashboard.app.ask('GET', `${studio}/branches`)).body).toHaveLength(1);
});

test('a review is only opened by asking for it, and published where pull requests are required', async () => {
  await draftOf('summer', 'b', 'Summer');
  await dashboard.app.ask('PATCH', `${studio}/repository`, {
    body: { require_pull: true, protected_branches: ['main'] },
  });
  const page = await dashboard.open('/p/acme/site/content?draft=summer', {
    email: 'eddie@example.org',
    role: 'editor',
  });
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('button', { name: 'Ask for review' }).click();
  await page.waitForURL('**/drafts/reviews/*');
  expect(await titleOf('b')).toBe('B');
  await page.getByRole('main').getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('Published: summer').waitFor();
  await page.getByText('What you save opens a draft').waitFor();
  expect(await titleOf('b')).toBe('Summer');
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { require_pull: false, protected_branches: [] } });
});

test('an entry whose save opened a draft is edited on after it was published', async () => {
  await dashboard.app.ask('PATCH', `${studio}/repository`, {
    body: { require_pull: true, protected_branches: ['main'] },
  });
  const page = await dashboard.open('/p/acme/site/content/posts/d');
  const title = page.getByRole('main').getByRole('textbox', { name: 'Title' });
  await title.fill('Autumn');
  await page.getByRole('main').getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/[?&]draft=/);
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.waitForURL((url) => !url.searchParams.has('draft'));
  await page.getByText('What you save opens a draft').waitFor();
  await expect.poll(() => title.inputValue()).toBe('Autumn');
  await title.fill('Late autumn');
  expect(await page.getByText('This entry is open for editing in another tab').count()).toBe(0);
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { require_pull: false, protected_branches: [] } });
});

test('faults that a draft brings in are listed, and block where the project says so', async () => {
  await makeBranch(dashboard.app, 'faulty');
  await commitTo(dashboard.app, 'faulty', { [postPath('c')]: '---\ntitle: [\n---\n' });
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { publish_checks: 'block' } });
  const page = await dashboard.open('/p/acme/site/content?draft=faulty', { size: narrow });
  await page.getByRole('button', { name: 'Publish' }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByText('1 fault is in the way.').waitFor();
  await sheet.getByRole('link', { name: 'C Posts / c' }).waitFor();
  expect(await sheet.getByRole('button', { name: 'Publish' }).isDisabled()).toBe(true);
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { publish_checks: 'warn' } });
});

test('a draft that somebody changes while it is looked at is not published unseen', async () => {
  await draftOf('moving', 'd', 'One');
  const page = await dashboard.open('/p/acme/site/content?draft=moving');
  await page.getByRole('button', { name: 'Publish' }).click();
  const publish = page.getByRole('dialog').getByRole('button', { name: 'Publish' });
  await publish.waitFor();
  await commitTo(dashboard.app, 'moving', { [postPath('d')]: post({ ...fields, title: 'Two' }) });
  await publish.click();
  await page.getByRole('alert').getByText('Somebody changed this meanwhile. Nothing was overwritten.').waitFor();
  expect(await titleOf('d')).toBe('Autumn');
});

test('rights that are taken away meanwhile leave everything as it was, and say so', async () => {
  await draftOf('revoked', 'c', 'Revoked');
  const page = await dashboard.open('/p/acme/site/content?draft=revoked', {
    email: 'rita@example.org',
    role: 'editor',
  });
  await page.getByRole('button', { name: 'Publish' }).click();
  const publish = page.getByRole('dialog').getByRole('button', { name: 'Publish' });
  await publish.waitFor();
  const { body } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/members');
  const member = (body as { id: number; email: string }[]).find(({ email }) => email === 'rita@example.org');
  const { status } = await dashboard.app.ask('DELETE', `/api/v2/organizations/acme/members/${member?.id}`);
  expect(status).toBeLessThan(300);
  await publish.click();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  expect(await titleOf('c')).toBe('C');
});
