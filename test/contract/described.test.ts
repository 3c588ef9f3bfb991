import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { routes } from '../../src/rest/routes.ts';
import { pathParameters, type Row } from '../../src/rest/table.ts';
import { type Answer, acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { rowAt, undescribed } from '../support/described.ts';
import { askRaw } from '../support/raw-http.ts';
import { siteFiles } from '../support/site-files.ts';

const project = `${acme}/projects/site`;
const definition = JSON.stringify({
  portico: 'workflow/1',
  name: 'W',
  steps: [{ id: 'note', type: 'transform', expression: '1' }],
});

const app = shared(() =>
  startTestApp({ PORTICO_TRUSTED_DOMAINS: '*.docs.test', PORTICO_AUTH_FAILURE_LIMIT: '100000' }),
);
let strange: string;
/** What path parameters stand for; a part of the path in front of the name where it has two meanings. */
let places: Record<string, string>;

const made = async (path: string, body: object) => {
  const answer = await app.ask('POST', path, { body });
  expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  // Jobs are taken, and none is done.
  app.services.jobs = { send: async () => {}, sendMany: async () => {} };
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  await app.run(createProject, { organization: 'acme', name: 'Gone', machine_name: 'gone' });
  strange = await app.makeToken(permissionNames, { organization: 'other' });
  const seeded = await seed(app, { ...siteFiles, 'public/one.png': Buffer.from('89504e470d0a1a0a', 'hex') });
  const added = await seed(app, { 'public/added.txt': 'Added' });
  for (const name of ['ahead-1', 'ahead-2']) {
    await made(`${studio}/branches`, { name });
    await commitTo(app, name, { [`${name}.css`]: name });
  }
  await made(`${studio}/branches`, { name: 'spare' });
  const pull = await made(`${studio}/pulls`, { title: 'First', head: 'ahead-1' });
  const environment = await made(`${studio}/environments`, { name: 'Live', branch: 'main', provider: 'static' });
  const settings = { draft_preview: environment.id };
  expect((await app.ask('PATCH', `${studio}/repository`, { body: settings })).status).toBe(200);
  const deployment = await made(`${studio}/deployments`, { environment_id: environment.id });
  const crawler = await made(`${project}/crawlers`, {
    domain: 'www.docs.test',
    webhook_url: 'https://hooks.docs.test/crawl',
  });
  const at = `${project}/crawlers/${crawler.uuid}`;
  const schedule = await made(`${at}/schedules`, { schedule_cron_string: '0 0 * * *' });
  const delivery = await made(`${at}/webhook/test`, {});
  const { run_id } = await made(`${at}/run`, {});
  const workflow = await made(`${project}/workflows`, { name: 'W', definition });
  const trigger = await made(`${project}/workflows/${workflow.id}/triggers`, { type: 'webhook' });
  const execution = await made(`${project}/workflows/${workflow.id}/executions`, {});
  const token = await made(`${acme}/tokens`, { name: 'Other', preset: 'readonly' });
  const member = await made(`${acme}/members`, { email: 'second@example.org', role: 'readonly' });
  places = {
    organization: 'acme',
    project: 'site',
    collection: 'posts',
    entry: 'en/alpha',
    media: 'public/one.png',
    commit: added,
    'branches/name': 'spare',
    'pulls/number': String(pull.number),
    'versions/number': '1',
    environment: String(environment.id),
    deployment: String(deployment.id),
    crawler: crawler.uuid,
    crawler_schedule: String(schedule.id),
    'webhook/deliveries/delivery': String(delivery.id),
    run_id,
    workflow: workflow.id,
    trigger: trigger.id,
    execution: execution.id ?? execution.execution_id ?? execution.executionId,
    token_id: String(token.id),
    'members/member': String(member.id),
    'secrets/name': 'KEY',
    deleted_project: 'gone',
  };
  bodies['studio.revertEntry'] = { collection: 'posts', slug: 'en/alpha', commit: seeded, mode: 'restore' };
  const gone = await app.ask('DELETE', `${acme}/projects/gone`);
  expect(gone.status).toBe(204);
});

/** The path of a row with the names of things that exist, or of things that do not. */
function pathOf({ path }: Row, unknown = false): string {
  return path.replace(/(\w+(?:\/\w+)?\/)?(?:\w+\/)?[:*]([a-z_]+)/g, (whole, _before, name: string) => {
    const lead = whole.slice(0, -(name.length + 1));
    const known = Object.entries(places).find(([key]) => key.includes('/') && `${lead}${name}`.endsWith(key));
    const value = known?.[1] ?? places[name] ?? '999999';
    return lead + (unknown && !['organization', 'project'].includes(name) ? '999999' : value);
  });
}

/** Bodies with which commands succeed here. */
const bodies: Record<string, object> = {
  'organizations.createOrganization': { name: 'Third' },
  'projects.createProject': { name: 'Third' },
  'identity.createToken': { name: 'T', preset: 'readonly' },
  'organizations.inviteMember': { email: 'third@example.org', role: 'readonly' },
  'organizations.updateMember': { role: 'editor' },
  'studio.createEntry': { slug: 'en/made', frontmatter: { title: 'Made', author: 'ada' }, body: 'Text\n' },
  'studio.updateEntry': { frontmatter: { title: 'Changed' } },
  'studio.saveToDraft': {
    actions: [
      { op: 'create', collection: 'posts', slug: 'en/drafted', frontmatter: { title: 'Drafted', author: 'ada' } },
    ],
  },
  'studio.commitChanges': {
    message: 'Two',
    actions: [{ op: 'update', collection: 'posts', slug: 'en/beta', frontmatter: { title: 'B' } }],
  },
  'studio.validateEntry': { collection: 'posts', frontmatter: { title: 5 } },
  'studio.uploadMedia': { path: 'public/two.txt', content: Buffer.from('two').toString('base64') },
  'studio.createBranch': { name: 'another' },
  'studio.mergeBranches': { head: 'ahead-2', dry_run: true },
  'studio.createPull': { title: 'Second', head: 'ahead-2' },
  'studio.updatePull': { title: 'Renamed' },
  'studio.startDeployment': { environment_id: 1 },
  'studio.createEnvironment': { name: 'Second', branch: 'main', provider: 'static' },
  'studio.updateEnvironment': { name: 'Renamed' },
  'studio.previewBranch': { branch: 'spare' },
  'crawlers.createCrawler': { domain: 'second.docs.test' },
  'crawlers.updateCrawler': { domain: 'www.docs.test', name: 'Docs' },
  'crawlers.testUrl': { url: 'https://www.docs.test/a' },
  'crawlers.createSchedule': { schedule_cron_string: '0 1 * * *' },
  'crawlers.updateSchedule': { schedule_cron_string: '0 2 * * *' },
  'workflows.createWorkflow': { name: 'Second', definition },
  'workflows.validateWorkflow': { definition: '{' },
  'workflows.updateWorkflow': { description: 'Changed' },
  'workflows.createTrigger': { type: 'cron', schedule_cron_string: '0 0 * * *' },
  'workflows.updateTrigger': { enabled: true },
  'workflows.revokeTriggerSecret': { which: 'previous' },
  'workflows.putWorkflowSecret': { value: 'x' },
};
const queries: Record<string, string> = {
  'studio.compareBranches': '?base=main&head=ahead-2&patch=true&values=true',
  'studio.checkPublish': '?base=main&head=ahead-2',
  'studio.getFile': '?path=README.md',
  'studio.blameFile': '?path=README.md',
  'studio.listEntries': '?include=body,updated',
  'studio.deleteEntry': '?force=true',
  'studio.deleteMedia': '?force=true',
  'studio.deleteEnvironment': '?force=true',
  'crawlers.previewSchedule': '?cron=0%200%20*%20*%20*',
  'studio.listMedia': '?recursive=true',
};

const strict = { Prefer: 'handling=strict' };
const faults: string[] = [];
const succeeded = new Set<string>();

async function seen(row: Row, requested: Promise<Answer>): Promise<Answer> {
  const answer = await requested;
  faults.push(...undescribed(row, answer));
  if (answer.status < 300) succeeded.add(row.operation.name);
  return answer;
}

const named = (row: Row) => `${row.method.toUpperCase()} ${row.path}`;
/** Deletions last, of the smallest thing first, so that all others find what they name. */
const inOrder = [
  ...routes.filter(({ method }) => method !== 'delete'),
  ...routes.filter(({ method }) => method === 'delete').reverse(),
];

/** Rows whose success needs more than this file makes, each with what; their other tests are in `test/rest`. */
const unreached: Record<string, string> = {
  'organizations.createOrganization': 'an administrator of the instance, which no token is',
  'organizations.deleteOrganization': 'an Owner who has just proved who they are',
  'studio.getDeploymentLog': 'a build',
  'studio.reportDeployment': 'an external provider',
  'studio.annotateDeploymentPage': 'a deployment with pages',
  'studio.annotatePage': 'an environment that shows pages',
  'studio.cancelDeployment': 'a deployment that is still queued',
  'studio.importRepository': 'a repository elsewhere',
  'studio.cancelImport': 'an import that is under way',
  'studio.setRemote': 'a repository elsewhere',
  'studio.removeRemote': 'a repository elsewhere',
  'studio.syncRepository': 'a repository elsewhere',
  'studio.noticePush': 'the signature of a repository elsewhere',
  'crawlers.cancelRun': 'a run that has not ended',
  'crawlers.getSnapshot': 'a finished run',
  'crawlers.updateSnapshot': 'a finished run',
  'crawlers.deleteSnapshot': 'a finished run',
  'crawlers.listSnapshotEntries': 'a finished run',
  'crawlers.diffSnapshots': 'a finished run',
  'crawlers.publishSnapshot': 'a finished run',
  'crawlers.importSnapshot': 'a finished run',
  'crawlers.getImport': 'a finished run',
  'crawlers.exportWarc': 'a finished run',
  'workflows.getWebhookDelivery': 'a call of the webhook',
  'workflows.redeliver': 'a call of the webhook',
  'workflows.resumeExecution': 'an execution that waits for input',
  'workflows.acknowledgeExecution': 'a failed execution',
};

describe('every answer is one that openapi.json describes', () => {
  it.each(inOrder.map((row) => [named(row), row] as const))('%s: refusals', async (_name, row) => {
    const method = row.method.toUpperCase();
    const before = faults.length;
    await seen(row, askRaw(app, method, pathOf(row), { token: null }));
    await seen(row, askRaw(app, method, pathOf(row), { token: strange }));
    await seen(row, askRaw(app, method, `${pathOf(row)}?a=${'x'.repeat(17_000)}`));
    await seen(row, askRaw(app, method, `${pathOf(row)}?%ff=1`));
    const expecting = await seen(row, askRaw(app, method, pathOf(row), { headers: { Expect: 'x' } }));
    expect(expecting.status).toBe(417);
    const strictly = await seen(row, askRaw(app, method, `${pathOf(row)}?zz=1`, { headers: strict }));
    expect([strictly.status, strictly.headers.get('preference-applied')]).toEqual([400, strict.Prefer]);
    expect(strictly.headers.get('x-ignored-fields')).toBe('zz');
    if (pathParameters(row.path).length > 2) await seen(row, askRaw(app, method, pathOf(row, true), { body: '{}' }));
    if (row.method !== 'get') {
      await seen(row, askRaw(app, method, pathOf(row), { body: '{' }));
      await seen(row, askRaw(app, method, pathOf(row), { body: 'x', headers: { 'content-type': 'text/plain' } }));
    } else if ('per_page' in row.operation.input.shape) {
      const path = `${pathOf(row)}?per_page=0`;
      // What the path names may not be there, which is found first.
      expect([400, 404]).toContain((await seen(row, askRaw(app, method, path))).status);
    }
    expect(faults.slice(before)).toEqual([]);
  });

  it.each(inOrder.map((row) => [named(row), row] as const))('%s: success', async (_name, row) => {
    const { name } = row.operation;
    const before = faults.length;
    const path = `${pathOf(row)}${queries[name] ?? ''}`;
    expect(rowAt(row.method, path)).toBe(row);
    const answer = await seen(
      row,
      askRaw(app, row.method.toUpperCase(), path, {
        ...(['post', 'put', 'patch'].includes(row.method) && { body: JSON.stringify(bodies[name] ?? {}) }),
        headers: { 'Idempotency-Key': `walk-${name}`, ...strict },
      }),
    );
    expect(answer.headers.get('preference-applied')).toBe(strict.Prefer);
    const etag = answer.headers.get('etag');
    if (row.method === 'get' && answer.status === 200 && etag) {
      const again = await seen(row, askRaw(app, 'GET', path, { headers: { 'If-None-Match': etag } }));
      expect([200, 304]).toContain(again.status);
    }
    if (row.operation.comparesTag)
      await seen(
        row,
        askRaw(app, row.method.toUpperCase(), path, { body: '{}', headers: { 'If-Match': `"${'0'.repeat(40)}.x"` } }),
      );
    expect(faults.slice(before)).toEqual([]);
  });

  it('saw an answer of success of every row but those that need more than this file makes', () => {
    const missed = routes.map(({ operation }) => operation.name).filter((name) => !succeeded.has(name));
    expect(missed.sort()).toEqual(Object.keys(unreached).sort());
  });
});
