import { expect, it } from 'vitest';
import { collectOutputs } from '../../../src/domain/studio/deployments/collect-outputs.ts';
import { pruneExecutions } from '../../../src/domain/workflows/executions/prune-executions.ts';
import { runRetention } from '../../../src/jobs/upkeep.ts';
import { shared } from '../../support/app.ts';
import { startExecutingApp } from '../../support/workflows/executing.ts';

const app = shared(startExecutingApp);

const day = 24 * 3_600_000;
const { signal } = new AbortController();
const sql = <T>(text: string) => app.services.orm.em.fork().execute<T[]>(text);
const flow = (steps: object[]) => ({ portico: 'workflow/1', steps });

it('keeps ended executions for 30 days, failed ones for 90, and open ones for good, each with its events', async () => {
  const definitions = {
    good: flow([{ id: 'a', type: 'transform', expression: '1' }]),
    bad: flow([{ id: 'a', type: 'fail' }]),
    open: flow([{ id: 'a', type: 'wait_for_input', timeout: '365d' }]),
  };
  app.clock.now = new Date();
  const ids: Record<string, string> = {};
  for (const [name, definition] of Object.entries(definitions)) ids[name] = await app.begin(await app.save(definition));
  await app.settle();
  const begun = app.clock.now?.getTime() ?? 0;
  const left = async (days: number) => {
    app.clock.now = new Date(begun + days * day);
    await runRetention(app.services, 365);
    await pruneExecutions(app.services, signal);
    const rows = await sql<{ id: string }>('select id from execution');
    const events = await sql<{ topic: string }>(`select distinct topic from event where topic like 'execution:%'`);
    const names = rows.map(({ id }) => Object.keys(ids).find((name) => ids[name] === id)).sort();
    expect(events.map(({ topic }) => topic).sort()).toEqual(names.map((name) => `execution:${ids[name ?? '']}`).sort());
    return names;
  };
  expect(await left(30)).toEqual(['bad', 'good', 'open']);
  expect(await left(31)).toEqual(['bad', 'open']);
  expect(await left(90)).toEqual(['bad', 'open']);
  expect(await left(91)).toEqual(['open']);
});

it('keeps the blobs of large outputs as long as their executions', async () => {
  const text = 'y'.repeat(400_000);
  const large = flow([
    { id: 'a', type: 'transform', expression: '[input, input]' },
    { id: 'b', type: 'transform', expression: '[input, input]' },
    { id: 'both', type: 'transform', expression: 'steps' },
  ]);
  app.clock.now = new Date();
  const workflow = await app.save(large);
  const id = await app.begin(workflow, text);
  await app.settle();
  app.clock.now = new Date(Date.now() + 2 * day);
  await collectOutputs(app.services);
  expect((await app.look(workflow, id)).steps[2].output.a.output).toEqual([text, text]);
  const [{ sha256 }] = (await sql<{ sha256: string }>(
    'select output_sha256 as sha256 from execution where output_sha256 is not null',
  )) as [{ sha256: string }];
  app.clock.now = new Date(Date.now() + 32 * day);
  await pruneExecutions(app.services, signal);
  await collectOutputs(app.services);
  expect(await app.services.blobs.missing([sha256])).toEqual(new Set([sha256]));
});

it('keeps what a webhook brought as long as an execution goes on that it started, or that tries it again', async () => {
  const definition = flow([
    { id: 'ask', type: 'wait_for_input', timeout: '365d' },
    { id: 'b', type: 'transform', expression: '[input.body.n, steps.ask.output]' },
  ]);
  app.clock.now = new Date();
  const workflow = await app.save(definition);
  const at = `/api/v2/organizations/acme/projects/site/workflows/${workflow}`;
  const { body: trigger } = await app.ask('POST', `${at}/triggers`, { body: { type: 'webhook' } });
  const [delivery, first] = ['019a0000-0000-7000-8000-000000000001', await app.begin(workflow)];
  const em = app.services.orm.em.fork();
  await em.execute(
    `insert into delivery (id, trigger_id, execution_id, outcome, method, headers, query, body, raw_size, raw_sha256, auth_mode,
       secret_version, received_at)
     values (?, ?, ?, 'accepted', 'POST', '{"content-type":"application/json"}', '{}', '{"n":7}', 7, '', 'secret', 1, ?)`,
    [delivery, trigger.id, first, app.clock.now],
  );
  await em.execute('update execution set delivery_id = ? where id = ?', [delivery, first]);
  await app.settle();
  await app.ask('POST', `${at}/executions/${first}/cancel`);
  const again = (await app.ask('POST', `${at}/executions/${first}/retry`, { body: {} })).body.execution_id;
  await app.settle();
  app.clock.now = new Date(app.clock.now.getTime() + 60 * day);
  await pruneExecutions(app.services, signal);
  expect(await sql('select id, body is not null as is_kept from delivery')).toEqual([{ id: delivery, is_kept: true }]);
  await app.ask('POST', `${at}/executions/${again}/resume`, { body: { path: 'ask', input: 'on' } });
  await app.settle();
  expect(await app.look(workflow, again)).toMatchObject({ status: 'completed', output: [7, 'on'] });
  await pruneExecutions(app.services, signal);
  expect(await sql('select id from delivery')).toEqual([]);
});
