import { beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../../src/domain/identity/tokens.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { createEnvironment } from '../../src/domain/studio/environments/environments.operations.ts';
import { createPull } from '../../src/domain/studio/pulls/write-pull.operations.ts';
import { createTrigger } from '../../src/domain/workflows/triggers/triggers.operations.ts';
import { createWorkflow } from '../../src/domain/workflows/workflows.operations.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { shared, startTestApp } from '../support/app.ts';
import { makePerson } from '../support/browser.ts';
import { save } from '../support/git-store.ts';
import { siteFiles } from '../support/site-files.ts';
import { statementsOf } from '../support/statements.ts';

/** Of every page of the dashboard, authentication aside. */
const mostStatements = 12;

const app = shared(startTestApp);
let workflow: string;
let webhook: string;
let latest: number;
const at = { organization: 'acme', project: 'site' };

beforeAll(async () => {
  const posts = Array.from({ length: 40 }, (_, number) => [
    `src/content/posts/en/more-${number}.md`,
    `---\ntitle: More ${number}\nauthor: ada\n---\n\nText ${number}\n`,
  ]);
  await save(await app.repository(), { ...siteFiles, ...Object.fromEntries(posts) });
  await makeOrganization();
  await makeDrafts();
  await makeDeployments();
  await makeWorkflows();
  await app.services.studio.moves.settled();
  await app.services.studio.content.settled();
});

async function makeOrganization(): Promise<void> {
  for (const name of ['one', 'two', 'three']) {
    await app.run(createProject, { organization: 'acme', name, machine_name: name });
    await makePerson(app, { email: `${name}@example.org`, role: 'editor' });
    await app.run(createToken, { organization: 'acme', name, permissions: permissionNames, projects: ['one', 'site'] });
  }
}

async function makeDrafts(): Promise<void> {
  const git = await app.repository();
  const main = (await git.head('main')) ?? '';
  for (const name of ['spring', 'summer', 'autumn']) {
    await git.createBranch(name, main);
    await git.write({
      branch: name,
      author: { name: 'Seed', email: 'seed@portico.test' },
      plan: async () => ({
        changes: [{ path: `${name}.txt`, content: Buffer.from(name) }],
        message: name,
        result: null,
      }),
    });
    await app.run(createPull, { ...at, title: name, head: name });
  }
}

const execute = <T>(sql: string, values: unknown[] = []) =>
  app.services.orm.em.fork().execute(sql, values) as Promise<T[]>;

async function makeDeployments(): Promise<void> {
  const commit = await (await app.repository()).head('main');
  for (const name of ['live', 'staging', 'next']) {
    const draft = { ...at, name, branch: 'main', provider: 'static' };
    const { id } = (await app.run(createEnvironment, draft)) as { id: number };
    [{ id: latest } = { id: 0 }] = await execute<{ id: number }>(
      `with run as (
         insert into deployment (project_id, environment_id, run_number, branch, commit_sha, title, status, conclusion, trigger, attempt,
           settings, created_at, completed_at)
         select project_id, id, 1000 * id, 'main', ?, 'Run', 'completed', 'success', 'manual', 1, '{}', now(), now()
         from environment where id = ? returning id
       ), job as (
         insert into deployment_job (deployment_id, name, position, status, conclusion, steps, started_at, completed_at, log_size)
         select id, 'build', 0, 'completed', 'success', '[]'::json, now(), now(), 4 from run returning id
       ), kept as (
         insert into deployment_log (job_id, start, size, content) select id, 0, 4, 'done' from job
       )
       select id from run`,
      [commit, id],
    );
  }
}

async function makeWorkflows(): Promise<void> {
  const definition = { portico: 'workflow/1', steps: [{ id: 'a', type: 'fail' }] };
  for (let count = 0; count < 4; count += 1) {
    const made = (await app.run(createWorkflow, { ...at, name: `Flow ${count}`, definition })) as { id: string };
    workflow = made.id;
    const draft = { ...at, workflow, type: 'webhook' };
    webhook = ((await app.run(createTrigger, draft)) as { id: string }).id;
    for (const hour of [1, 2, 3])
      await app.run(createTrigger, { ...at, workflow, type: 'cron', schedule_cron_string: `0 ${hour} * * *` });
    await execute(
      `with begun as (
         insert into execution (id, project_id, workflow_id, version, status, trigger_id, trigger_type, delivery_id, created_at, started_at, finished_at)
         select gen_random_uuid(), project_id, id, 1, 'completed', ?::uuid, 'webhook', gen_random_uuid(), now(), now(), now()
         from workflow, generate_series(1, 5) where id = ?
         returning id, trigger_id, delivery_id
       )
       insert into delivery (id, trigger_id, execution_id, outcome, method, headers, query, raw_size, raw_sha256, auth_mode, secret_version, received_at)
       select delivery_id, trigger_id, id, 'accepted', 'POST', '{}', '{}', 0, '', 'secret', 1, now() from begun`,
      [webhook, workflow],
    );
  }
}

const page = 'page_info { has_next_page end_cursor }';
const inProject = (selection: string) =>
  `query { project(organization: "acme", project: "site") { id machine_name name ${selection} } }`;

const organization =
  () => `query { me { id name } organization(organization: "acme") { machine_name name limits { crawl_bytes }
  projects(first: 20) { total_count ${page} nodes { id machine_name name } }
  members(first: 20) { total_count nodes { id name email role projects } }
  tokens(first: 20) { total_count nodes { id name permissions projects expires_at last_used } }
  audit(first: 20) { total_count ${page} nodes { id action actor at } } } }`;

const fields = 'fields { name type label required list relation { collection } }';

const content = () =>
  inProject(`studio {
    collections { nodes { name label entries_count invalid_count } }
    collection(name: "posts") { name schema { collection ${fields} }
      entries(first: 30, sort: "-title", q: "more", filter: { author: { eq: "ada" } }) { total_count ${page}
        nodes { slug title draft locale url updated_at updated_by faults { message } translations { slug locale } } } }
    branches { total_count nodes { name commit { sha author { name } } ahead_by behind_by can_commit { allowed } pulls { number } } }
    pulls(state: open) { total_count nodes { number title mergeable head { ref } } } }`);

const entry = () =>
  inProject(`studio { entry(collection: "posts", slug: "en/alpha") { slug sha frontmatter body
      schema { collection ${fields} } references { slug } referenced_by { total_count nodes { slug } } media { path }
      translations { slug locale } history(first: 20) { total_count nodes { sha message author { name } } } }
    branch(name: "main") { name protected can_commit { allowed } commit { sha } environments { nodes { id name published { id } } } } }`);

const deployments = () =>
  inProject(`studio { environments { total_count nodes { id name url branch { name commit { sha } }
      published { id } latest_deployment { id status commit { sha message } jobs { id name status steps { name } } } } }
    deployments(first: 20) { total_count ${page} nodes { id status commit { sha message } } } }`);

const deployment = () =>
  inProject(`studio { deployment(id: ${latest}) { id status environment { id name branch { name } } commit { sha message }
      jobs { id name log(first: 100) { total_count ${page} nodes { offset text } } } } }`);

const workflows = () =>
  inProject(`workflows(first: 20) { total_count nodes { id name enabled webhook_url last_execution { id status } } }
    dead_letters(first: 20) { total_count nodes { id workflow { id name } } }`);

const triggers = () =>
  inProject(`workflow(id: "${workflow}") { id name definition
      triggers { nodes { id type enabled url secret_state last_delivery_at next_fires } }
      trigger(id: "${webhook}") { id deliveries(first: 20) {
        total_count ${page} nodes { id outcome received_at execution { id status duration_ms } } } } }`);

const executions = () =>
  inProject(`workflow(id: "${workflow}") { id name
      executions(first: 20) { total_count nodes { id status workflow { id name } delivery { id event } } } }`);

describe('the statements behind one request', () => {
  it.each([
    ['an organisation with its projects, members, tokens and audit', organization],
    ['a page of a collection with drafts and reviews', content],
    ['an entry with all it leads to', entry],
    ['environments with their deployments', deployments],
    ['a deployment with its jobs and logs', deployment],
    ['workflows with failures', workflows],
    ['a workflow with triggers and deliveries', triggers],
    ['the executions of a workflow', executions],
  ])('are at most 12 for %s', async (_page, document) => {
    const statements = await statementsOf(app, document());
    expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(mostStatements);
  });
});
