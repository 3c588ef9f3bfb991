import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type ExecutingApp, startExecutingApp, workflows } from '../../../support/workflows/executing.ts';

let app: ExecutingApp;
let peer: Server;
/** Answers the call that keeps an execution with its driver. */
let answer = () => {};
beforeAll(async () => {
  peer = createServer((_request, response) => {
    answer = () => response.end('{}');
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  app = await startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
});
afterAll(async () => {
  answer();
  await app?.stop();
  peer?.closeAllConnections();
  peer?.close();
});
const began = new Date('2026-03-01T08:00:00Z');
beforeEach(() => {
  app.clock.now = began;
});

/** An execution that waits for a person for a second, while its driver waits for a call. */
async function asking() {
  const call = { id: 'call', type: 'http', url: `http://127.0.0.1:${(peer.address() as AddressInfo).port}/` };
  const ask = { id: 'ask', type: 'wait_for_input', timeout: '1s', on_timeout: 'fail' };
  const both = { id: 'both', type: 'parallel', branches: { calls: [call], asks: [ask] } };
  const workflow = await app.save({ portico: 'workflow/1', steps: [both] });
  const id = await app.begin(workflow);
  await app.services.workflows.engine.advance(app.jobs.splice(0));
  const step = async () =>
    (await app.look(workflow, id)).steps.find(({ path }: { path: string }) => path.endsWith('ask'));
  await vi.waitFor(async () => expect(await step()).toMatchObject({ status: 'waiting' }), { timeout: 30_000 });
  const { path } = await step();
  const resume = () =>
    app.ask('POST', `${workflows}/${workflow}/executions/${id}/resume`, { body: { path, input: 'yes' } });
  return { step, resume };
}

it('an answer in time counts, though its driver has not been notified of it when the time is over', async () => {
  const { step, resume } = await asking();
  expect((await resume()).status).toBe(200);
  app.clock.now = new Date(began.getTime() + 2_000);
  // The driver looks when the second is over, which it has waited for by the machine's clock.
  answer();
  await app.services.workflows.engine.idle();
  expect(await step()).toMatchObject({ status: 'completed', output: 'yes' });
});

it('an answer after the time is refused, though no process has ended the wait yet', async () => {
  const { step, resume } = await asking();
  app.clock.now = new Date(began.getTime() + 1_000);
  expect(await resume()).toMatchObject({ status: 409, body: { code: 'conflict' } });
  answer();
  await app.services.workflows.engine.idle();
  expect(await step()).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
});
