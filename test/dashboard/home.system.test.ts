import { beforeAll, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();

beforeAll(async () => {
  await seedPosts(dashboard.app);
});

test('a new project says what to do first', async () => {
  const project = { name: 'New', machine_name: 'new' };
  await dashboard.app.ask('POST', '/api/v2/organizations/acme/projects', { body: project });
  const page = await dashboard.open('/p/acme/new', { size: narrow });
  await page.getByText('This project is empty').waitFor();
  await expectGoodPage(page);
  await page.getByRole('link', { name: 'Import a repository' }).click();
  await page.waitForURL('**/p/acme/new/settings*');
});

test('what needs a person, what is live and what happened is a click away, and seen as it happens', async () => {
  const page = await dashboard.open('/p/acme/site');
  await page.getByText('Nothing waits for you.').waitFor();
  await page.getByText('Nothing is deployed from here yet.').waitFor();
  await makeBranch(dashboard.app, 'spring');
  await commitTo(dashboard.app, 'spring', { [postPath('a')]: post({ title: 'Spring' }) });
  await dashboard.app.ask('POST', `${studio}/pulls`, { body: { head: 'spring', title: 'Spring <b>issue</b>' } });
  await page.getByRole('link', { name: 'Spring <b>issue</b>' }).waitFor();
  await dashboard.app.ask('PUT', `${studio}/collections/posts/b`, { body: { frontmatter: { title: 'Bees' } } });
  await page.getByRole('link', { name: 'Update posts/b' }).waitFor();
  await expectGoodPage(page);
  const { Home } = await dashboard.statementsOf(page);
  expect(Home).toBeLessThanOrEqual(12);
  await page.getByRole('link', { name: 'Spring <b>issue</b>' }).press('Enter');
  await page.waitForURL('**/drafts/reviews/1?draft=spring');
});
