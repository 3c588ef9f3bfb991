import { afterEach, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { startExecutingApp } from '../support/workflows/executing.ts';

const app = shared(startExecutingApp);
const open: EventStream[] = [];
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});

const at = 'organization: "acme", project: "site"';
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
async function ask(query: string): Promise<any> {
  const { body } = await app.ask('POST', '/graphql', { body: { query } });
  expect(body.errors).toBeUndefined();
  return body.data;
}
const flow = (steps: object[]) => ({ portico: 'workflow/1', steps });
const waits = flow([
  { id: 'first', type: 'transform', expression: 'input.n' },
  { id: 'ask', type: 'wait_for_input', message: 'Go on?' },
]);

it('executions are run, read with their steps and events, resumed, cancelled and tried again', async () => {
  const workflow = await app.save(waits);
  const begin = async () => {
    // The newest comes first in lists.
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1_000);
    const input = `{ workflow: "${workflow}", input: { n: 7 } }`;
    const { runWorkflow } = await ask(
      `mutation { runWorkflow(${at}, input: ${input}) { execution_id execution { id workflow { id } } } }`,
    );
    const { execution_id, execution } = runWorkflow;
    expect(execution).toEqual({ id: execution_id, workflow: { id: workflow } });
    return execution_id;
  };
  const [id, other] = [await begin(), await begin()];
  await app.settle();
  const seen = await ask(`{ project(${at}) {
    workflow(id: "${workflow}") { executions(status: paused, first: 1) { total_count nodes { id status } } }
    execution(id: "${id}") { status version input output trigger { id type } error { code } waiting_until
      steps { path status output waits_for { kind } } events { total_count nodes { seq type path } } } } }`);
  expect(seen.project.workflow.executions).toEqual({ total_count: 2, nodes: [{ id: other, status: 'paused' }] });
  expect(seen.project.execution).toMatchObject({
    status: 'paused',
    version: 1,
    input: { n: 7 },
    output: null,
    trigger: { id: null, type: 'manual' },
    error: null,
    steps: [
      { path: 'first', status: 'completed', output: 7, waits_for: null },
      { path: 'ask', status: 'waiting', output: null, waits_for: { kind: 'input' } },
    ],
  });
  expect(seen.project.execution.events.total_count).toBe(5);
  expect(
    seen.project.execution.events.nodes.map(({ seq, type }: { seq: number; type: string }) => [seq, type]),
  ).toEqual([
    [1, 'execution.created'],
    [2, 'execution.started'],
    [3, 'step.completed'],
    [4, 'step.waiting'],
    [5, 'execution.paused'],
  ]);
  const paged = await ask(`{ project(${at}) { execution(id: "${id}") { step_count
    step_runs(first: 1) { total_count nodes { path status } page_info { has_next_page end_cursor } }
    events(first: 3) { total_count nodes { actor status duration_ms } page_info { has_next_page end_cursor } } } } }`);
  const { step_count, step_runs, events } = paged.project.execution;
  expect([step_count, step_runs]).toMatchObject([
    2,
    { total_count: 2, nodes: [{ path: 'first', status: 'completed' }], page_info: { has_next_page: true } },
  ]);
  const next = await ask(`{ project(${at}) { execution(id: "${id}") {
    step_runs(first: 1, after: "${step_runs.page_info.end_cursor}") { nodes { path } page_info { has_next_page } } } } }`);
  expect(next.project.execution.step_runs).toEqual({ nodes: [{ path: 'ask' }], page_info: { has_next_page: false } });
  expect(events).toMatchObject({ total_count: 5, page_info: { has_next_page: true } });
  expect(events.nodes[2]).toEqual({ actor: `workflow:${workflow}`, status: 'completed', duration_ms: 0 });
  const later = await ask(`{ project(${at}) { execution(id: "${id}") {
    events(first: 3, after: "${events.page_info.end_cursor}") { total_count nodes { seq } page_info { has_next_page } } } } }`);
  expect(later.project.execution.events).toEqual({
    total_count: 5,
    nodes: [{ seq: 4 }, { seq: 5 }],
    page_info: { has_next_page: false },
  });
  await ask(`mutation { resumeExecution(${at}, input: { execution: "${id}", path: "ask", input: "yes" }) { status } }`);
  await app.settle();
  const cancelled = await ask(
    `mutation { cancelExecution(${at}, input: { execution: "${other}" }) { status cancel_reason } }`,
  );
  expect(cancelled.cancelExecution).toEqual({ status: 'cancelled', cancel_reason: 'user' });
  const again = await ask(
    `mutation { retryExecution(${at}, input: { execution: "${other}", from: start }) { execution_id } }`,
  );
  await app.settle();
  const both = await ask(`{ project(${at}) { one: execution(id: "${id}") { status output }
    again: execution(id: "${again.retryExecution.execution_id}") { status retry_of } } }`);
  expect(both.project).toEqual({
    one: { status: 'completed', output: 'yes' },
    again: { status: 'paused', retry_of: other },
  });
});

it('leads from an execution to its workflow, its version and back', async () => {
  const workflow = await app.save(flow([{ id: 'a', type: 'transform', expression: '1' }]));
  const id = await app.begin(workflow);
  await app.settle();
  const fields = 'workflow_id workflow { id version_number(number: 1) { number workflow { id } } } delivery { id }';
  const read = async () => await ask(`{ project(${at}) { execution(id: "${id}") { ${fields} } } }`);
  const version = { number: 1, workflow: { id: workflow } };
  expect((await read()).project.execution).toEqual({
    workflow_id: workflow,
    workflow: { id: workflow, version_number: version },
    delivery: null,
  });
  const listed = await ask(
    `{ project(${at}) { workflow(id: "${workflow}") { executions { nodes { workflow { id } } } } } }`,
  );
  expect(listed.project.workflow.executions.nodes).toEqual([{ workflow: { id: workflow } }]);
});

it('says what it refuses', async () => {
  const workflow = await app.save(flow([{ id: 'a', type: 'transform', expression: '1' }]));
  const id = await app.begin(workflow);
  await app.settle();
  for (const [mutation, input] of [
    ['cancelExecution', ''],
    ['retryExecution', ''],
    ['resumeExecution', ', path: "a"'],
    ['acknowledgeExecution', ''],
  ]) {
    const what = mutation === 'retryExecution' ? 'execution_id' : 'id';
    const query = `mutation { ${mutation}(${at}, input: { execution: "${id}"${input} }) { ${what} } }`;
    const { body } = await app.ask('POST', '/graphql', { body: { query } });
    expect([mutation, body.errors?.[0]?.extensions.reason]).toEqual([mutation, 'conflict']);
  }
});

it('the events of an execution are streamed as they come, from where a reader was, until it has ended', async () => {
  const workflow = await app.save(waits);
  const id = await app.begin(workflow, { n: 1 });
  const subscribe = async (after = '', headers: Record<string, string> = {}) => {
    const query = `subscription { executionEvents(${at}, execution_id: "${id}"${after}) { seq type path data } }`;
    const stream = await openStream(app.url, app.token, query, { headers });
    open.push(stream);
    return stream;
  };
  const read = async (stream: EventStream, count: number) => {
    const events: [string, string][] = [];
    while (events.length < count) {
      const event = await stream.next();
      events.push([event?.id ?? '', event?.data?.data?.executionEvents?.type]);
    }
    return events;
  };
  const stream = await subscribe();
  expect(await read(stream, 1)).toEqual([['1', 'execution.created']]);
  await app.settle();
  expect(await read(stream, 4)).toEqual([
    ['2', 'execution.started'],
    ['3', 'step.completed'],
    ['4', 'step.waiting'],
    ['5', 'execution.paused'],
  ]);
  const late = await subscribe(', after: "3"');
  expect(await read(late, 2)).toEqual([
    ['4', 'step.waiting'],
    ['5', 'execution.paused'],
  ]);
  await ask(`mutation { resumeExecution(${at}, input: { execution: "${id}", path: "ask" }) { status } }`);
  await app.settle();
  for (const each of [stream, late]) {
    expect(await read(each, 2)).toEqual([
      ['6', 'step.completed'],
      ['7', 'execution.completed'],
    ]);
    expect(await each.next()).toMatchObject({ event: 'complete' });
  }
  // Interrupted, a reader says what it had last.
  expect(await read(await subscribe('', { 'Last-Event-ID': '6' }), 1)).toEqual([['7', 'execution.completed']]);
});

it('an execution cannot be watched without the right to', async () => {
  const workflow = await app.save(waits);
  const id = await app.begin(workflow, { n: 1 });
  const query = `subscription { executionEvents(${at}, execution_id: "${id}") { type } }`;
  const stream = await openStream(app.url, await app.makeToken(['browse_studio']), query);
  open.push(stream);
  const text = stream.headers.get('content-type')?.startsWith('text/event-stream')
    ? JSON.stringify(await stream.next())
    : await stream.text();
  expect(text).toMatch(/forbidden/i);
});
