import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { type Answer, acme, shared, startTestApp } from '../../support/app.ts';
import { backUp, copyByBackup, restore } from '../../support/backups.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  // No queue runs here.
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
});

const workflowsOf = (project: string) => `${acme}/projects/${project}/workflows`;

async function done(method: string, at: string, body?: object): Promise<Answer['body']> {
  const answer = await app.ask(method, at, body && { body });
  expect(answer.status, `${method} ${at}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

const source = (title: string, note = '') =>
  `${note}portico: workflow/1\npermissions: [browse_studio]\nsteps:\n  - id: look\n    type: transform\n    expression: '"${title}"'\n`;

/** A workflow with three versions, of which the second is published, a webhook and two clocks; another without anything; one that is gone. */
async function withWorkflows(project: string): Promise<void> {
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  const at = workflowsOf(project);
  const { id } = await done('POST', at, {
    name: 'Full “Ünïcode”',
    description: 'What it does',
    definition: source('one'),
  });
  await done('PATCH', `${at}/${id}`, { definition: source('two', '# Why it is so\n') });
  await done('PATCH', `${at}/${id}`, { definition: source('three'), publish: false });
  await done('PUT', `${at}/${id}/secrets/API_KEY`, { value: 'sesame-of-steps' });
  await done('POST', `${at}/${id}/triggers`, { type: 'webhook', auth_mode: 'hmac', rate_limit: 7 });
  for (const draft of [
    { schedule_cron_string: '0 6 * * 1', timezone: 'Europe/Berlin' },
    { schedule_cron_string: '*/5 * * * *', enabled: false },
  ])
    await done('POST', `${at}/${id}/triggers`, { type: 'cron', ...draft });
  await done('POST', at, { name: 'Off', definition: source('off'), enabled: false });
  const gone = await done('POST', at, { name: 'Gone', definition: source('gone') });
  await done('DELETE', `${at}/${gone.id}`);
}

const byName = (one: Answer['body'], other: Answer['body']) => one.name.localeCompare(other.name);

/** All that is read of a project's workflows, without what a restored one has anew. */
async function allOf(project: string): Promise<Answer['body'][]> {
  const at = workflowsOf(project);
  const found = (await done('GET', at)).sort(byName);
  return Promise.all(
    found.map(async ({ id }: { id: string }) => {
      const { id: _id, webhook_url, ...workflow } = await done('GET', `${at}/${id}`);
      const versions = await done('GET', `${at}/${id}/versions`);
      const texts = await Promise.all(
        versions.map(({ number }: { number: number }) => done('GET', `${at}/${id}/versions/${number}`)),
      );
      const triggers = await done('GET', `${at}/${id}/triggers`);
      return { workflow, hasUrl: webhook_url !== null, texts, triggers: triggers.map(lasting).sort() };
    }),
  );
}
// As text, so that they have an order: two may be of the same millisecond.
const lasting = ({ id, url, next_fires, ...trigger }: Answer['body']) => JSON.stringify(trigger);

it('workflows come back with their versions and triggers, and run', async () => {
  await withWorkflows('site-a');
  const { copy } = await copyByBackup(app, 'site-a');
  const [before, after] = [await allOf('site-a'), await allOf(copy)];
  expect(before.map(({ texts }) => texts.length)).toEqual([3, 1]);
  expect(before.map(({ triggers }) => triggers.length)).toEqual([3, 0]);
  expect(after).toEqual(before);
  const [full] = (await done('GET', workflowsOf(copy))).sort(byName);
  const executions = `${workflowsOf(copy)}/${full.id}/executions`;
  const { execution_id } = await done('POST', executions, { input: {} });
  expect(await done('GET', `${executions}/${execution_id}`)).toMatchObject({ status: 'pending', version: 2 });
});

it('webhooks have another address and another secret', async () => {
  await withWorkflows('site-b');
  const { directory, copy } = await copyByBackup(app, 'site-b');
  const hookOf = async (project: string) => {
    const at = workflowsOf(project);
    const [{ id }] = (await done('GET', at)).sort(byName);
    const trigger = (await done('GET', `${at}/${id}/triggers`)).find(({ type }: Answer['body']) => type === 'webhook');
    const { secret } = await done('POST', `${at}/${id}/triggers/${trigger.id}/reveal`, {});
    return { id, secret, trigger };
  };
  const [theirs, ours] = [await hookOf('site-b'), await hookOf(copy)];
  expect(ours.trigger).toMatchObject({ auth_mode: 'hmac', secret_state: 'set', secret_version: 1 });
  expect(ours.secret).toMatch(/^whk_/);
  expect(ours.secret).not.toBe(theirs.secret);
  expect(ours.trigger.url).toContain(ours.id);
  expect(ours.id).not.toBe(theirs.id);
  expect(await done('GET', `${workflowsOf(copy)}/${ours.id}/secrets`)).toEqual([]);
  for (const table of ['workflow', 'workflow_version', 'workflow_trigger'])
    expect(await readFile(path.join(directory, `rows/${table}.jsonl`), 'utf8')).not.toMatch(/sesame|whk_|"secret"/);
});

it('a clock is due next as seen from when it is restored', async () => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  await withWorkflows('site-c');
  const directory = await backUp(app, 'site-c');
  app.clock.now = new Date('2027-03-03T08:00:00Z');
  await restore(app, directory, 'site-c-copy');
  const rows = await app.services.orm.em.fork().execute(
    `select next_fire_at from workflow_trigger join workflow on workflow.id = workflow_id
     join project on project.id = project_id where machine_name = 'site-c-copy' and type = 'cron' order by next_fire_at`,
  );
  app.clock.now = null;
  expect(rows.map(({ next_fire_at }) => next_fire_at && new Date(next_fire_at).toISOString())).toEqual([
    '2027-03-08T05:00:00.000Z',
    null,
  ]);
});

it('reads more versions than it takes at once, each once and in order', async () => {
  await app.run(createProject, { organization: 'acme', name: 'site-d', machine_name: 'site-d' });
  const at = workflowsOf('site-d');
  const ids: string[] = [];
  for (const name of ['A', 'B']) ids.push((await done('POST', at, { name, definition: source(name) })).id);
  await app.services.orm.em.fork().execute(
    `insert into workflow_version (workflow_id, number, source, definition, permissions, created_by, created_at)
     select workflow_id, n, source, definition, permissions, created_by, created_at
     from workflow_version, generate_series(2, 400) n where workflow_id in (?, ?)`,
    ids,
  );
  const directory = await backUp(app, 'site-d');
  const lines = (await readFile(path.join(directory, 'rows/workflow_version.jsonl'), 'utf8')).trim().split('\n');
  const read = lines.map((line) => JSON.parse(line)).map(({ workflow_id, number }) => `${workflow_id} ${number}`);
  const all = ids.sort().flatMap((id) => Array.from({ length: 400 }, (_, i) => `${id} ${i + 1}`));
  expect(read).toEqual(all);
});
