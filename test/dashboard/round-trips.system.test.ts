/** What each page asks the server for before it is complete: all of it at once, and little of the database for each query. */
import { beforeAll, expect, test } from 'vitest';
import { acme, seed, studio } from '../support/app.ts';
import { commitTo, makeBranch } from '../support/conflict-site.ts';
import { withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

/** Database statements behind each query, authentication aside. */
const mostStatements = 12;

const dashboard = withDashboard();
const site = '/p/acme/site';

let environment = '';
let deployment = '';
let workflow = '';
let trigger = '';

async function make(path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await dashboard.app.ask('POST', path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body as Record<string, unknown>;
}

beforeAll(async () => {
  await seed(dashboard.app, { ...siteFiles, 'public/picture.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' });
  await makeBranch(dashboard.app, 'spring');
  await commitTo(dashboard.app, 'spring', { 'src/content/authors/ada.yaml': 'name: Ada L.\n' });
  await make(`${studio}/pulls`, { title: 'Spring', head: 'spring' });
  environment = String((await make(`${studio}/environments`, { name: 'Live', branch: 'main', provider: 'static' })).id);
  deployment = String((await make(`${studio}/deployments`, { environment_id: Number(environment) })).id);
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { draft_preview: Number(environment) } });
  await make(`${studio}/draft-previews`, { branch: 'spring' });
  const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';
  const workflows = `${acme}/projects/site/workflows`;
  workflow = String((await make(workflows, { name: 'Hello', definition })).id);
  trigger = String((await make(`${workflows}/${workflow}/triggers`, { type: 'webhook' })).id);
});

/** Name of a page → its address, its own queries, and those it asks for when it is complete, for what is filled in then. */
const pages: Record<string, readonly [address: () => string, own: readonly string[], later?: readonly string[]]> = {
  // A person of one organisation is led to it.
  start: [() => '/', ['Organizations'], ['OrganizationHead', 'OrganizationProjects', 'ProjectStates']],
  account: [() => '/account', ['Account']],
  projects: [() => '/o/acme', ['OrganizationHead', 'OrganizationProjects'], ['ProjectStates']],
  members: [() => '/o/acme?tab=members', ['OrganizationHead', 'OrganizationMembers']],
  tokens: [() => '/o/acme?tab=tokens', ['OrganizationHead', 'OrganizationTokens']],
  'the audit log': [() => '/o/acme?tab=audit', ['OrganizationAudit', 'OrganizationHead']],
  'the settings of an organisation': [() => '/o/acme?tab=settings', ['OrganizationHead', 'OrganizationSettings']],
  home: [() => site, ['Home']],
  'home of a draft': [() => `${site}?draft=spring`, ['Home']],
  content: [() => `${site}/content`, ['ContentPage']],
  'found entries': [() => `${site}/content?q=Alpha`, ['ContentSearch']],
  'a collection': [() => `${site}/content/posts`, ['CollectionPage'], ['CollectionFields']],
  'invalid entries': [() => `${site}/content/posts?invalid=true`, ['CollectionPage'], ['CollectionFields']],
  'an entry': [() => `${site}/content/posts/en/alpha`, ['EntryPage'], ['EntryLocales']],
  'an entry of a draft': [() => `${site}/content/posts/en/alpha?draft=spring`, ['EntryPage'], ['EntryLocales']],
  'a new entry': [() => `${site}/new/posts`, ['EntryPage'], ['EntryLocales']],
  media: [() => `${site}/media`, ['MediaPage']],
  'deleted files of media': [() => `${site}/media/deleted`, ['DeletedMediaPage']],
  files: [() => `${site}/files`, ['FilesPage']],
  'a file': [() => `${site}/files/src?file=content.config.ts`, ['FilesPage']],
  drafts: [() => `${site}/drafts`, ['Drafts'], ['DraftCounts']],
  reviews: [() => `${site}/drafts?tab=reviews`, ['Drafts']],
  'what a draft changes': [() => `${site}/drafts/changes?draft=spring`, ['DraftChanges']],
  'a review': [() => `${site}/drafts/reviews/1`, ['Review']],
  environments: [() => `${site}/site`, ['DraftPreviews', 'Site']],
  'an environment': [() => `${site}/site/environments/${environment}`, ['EnvironmentPage']],
  'a deployment': [() => `${site}/site/deployments/${deployment}`, ['DeploymentPage']],
  workflows: [() => `${site}/workflows`, ['Workflows']],
  'a new workflow': [() => `${site}/workflows/new`, [], ['ValidateWorkflow']],
  'a definition': [() => `${site}/workflows/${workflow}`, ['WorkflowPage'], ['ValidateWorkflow']],
  triggers: [() => `${site}/workflows/${workflow}?tab=triggers`, ['WorkflowPage']],
  'versions of a workflow': [() => `${site}/workflows/${workflow}?tab=versions`, ['WorkflowPage']],
  'executions of a workflow': [() => `${site}/workflows/${workflow}?tab=executions`, ['WorkflowPage']],
  'secrets of a workflow': [() => `${site}/workflows/${workflow}?tab=secrets`, ['WorkflowPage']],
  'a trigger': [() => `${site}/workflows/${workflow}/triggers/${trigger}`, ['Deliveries', 'TriggerPage']],
  'settings of a project': [() => `${site}/settings`, ['ProjectSettings']],
};

test.each(Object.entries(pages))('%s: one round trip, at most 12 statements a query', async (_name, target) => {
  const [address, own, later = []] = target;
  // A file of the dashboard, which asks for nothing.
  const page = await dashboard.open('/dashboard/icon.svg');
  const wanted = ['Viewer', ...(address().startsWith('/p/') ? ['ProjectFrame', 'ShownDrafts'] : []), ...own].toSorted();
  const sent: string[] = [];
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route('**/graphql', async (route) => {
    const { query, operationName } = route.request().postDataJSON() as { query: string; operationName: string };
    if (/\bquery \w/.test(query)) {
      sent.push(operationName);
      await answered;
    }
    await route.continue();
  });
  await page.goto(`${dashboard.app.url}${address()}`);
  await expect.poll(() => sent.toSorted()).toEqual(wanted);
  answer();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
  // The stream of changes begins with what is shown being read again.
  const known = [...wanted, ...later];
  expect(sent.slice(wanted.length).filter((operation) => !known.includes(operation))).toEqual([]);
  const costs = await dashboard.statementsOf(page);
  expect(Object.entries(costs).filter(([, statements]) => statements > mostStatements)).toEqual([]);
});
