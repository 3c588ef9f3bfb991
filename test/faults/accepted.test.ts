import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { restClient } from '../support/rest-client.ts';
import {
  demoDataDir,
  endPid,
  kill,
  postmasterPid,
  type ServerProcess,
  startServer,
} from '../support/server-process.ts';
import { call, sign } from '../support/webhook.ts';

vi.setConfig({ testTimeout: 240_000 });

const workflows = '/organizations/demo/projects/site/workflows';
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: transform, expression: input.body.id}\n';

async function makeWebhook(server: ServerProcess, token: string) {
  const rest = restClient(server.url, token);
  const { id } = (await rest.send('POST', workflows, { name: 'Hooked', definition })).body;
  const draft = { type: 'webhook', auth_mode: 'hmac' };
  const { body: trigger } = await rest.send('POST', `${workflows}/${id}/triggers`, draft);
  const { secret } = (await rest.send('POST', `${workflows}/${id}/triggers/${trigger.id}/reveal`, {})).body;
  return { id: id as string, endpoint: `/webhooks/ai/workflows/${id}`, secret: secret as string };
}

/** What senders know of a delivery: accepted under an id, refused, or cut off on the way, which may be either. */
interface Sent {
  delivery: string;
  outcome: 'ok' | 'refused' | 'unknown';
  execution?: string;
}

test('whatever is killed under load, the server or its database, each 202 names an execution that is there and comes to its end', async () => {
  const { dataDir, token } = await demoDataDir();
  let server = await startServer(dataDir);
  const hook = await makeWebhook(server, token);
  const sent: Sent[] = [];
  const deliver = async (delivery: string): Promise<Sent> => {
    const body = JSON.stringify({ id: delivery });
    const headers = {
      'x-hub-signature-256': sign(hook.secret, body),
      'content-type': 'application/json',
      'x-github-delivery': delivery,
    };
    const answer = await call(server.url, hook.endpoint, { body, headers }).catch(() => null);
    if (answer === null) return { delivery, outcome: 'unknown' };
    if (answer.status === 202) return { delivery, outcome: 'ok', execution: answer.body.executionId };
    expect([answer.status, answer.body]).toEqual([503, { error: 'Service unavailable' }]);
    return { delivery, outcome: 'refused' };
  };
  const kills = {
    server: () => kill(server.child),
    'server, in order': () => server.stop('SIGTERM'),
    database: async () => endPid((await postmasterPid(dataDir)) ?? 0, 'SIGKILL'),
    both: async () => {
      const postmaster = (await postmasterPid(dataDir)) ?? 0;
      await Promise.all([kill(server.child), endPid(postmaster, 'SIGKILL')]);
    },
  };
  for (const [what, end] of Object.entries(kills)) {
    const before = sent.length;
    let over = false;
    const sender = async () => {
      while (!over) {
        const one = await deliver(randomUUID());
        sent.push(one);
        // A server that is gone accepts nothing more; one whose database is away comes back.
        if (one.outcome === 'unknown') return;
        if (one.outcome === 'refused') await setTimeout(50);
      }
    };
    const senders = Array.from({ length: 8 }, sender);
    const accepted = () => sent.slice(before).filter(({ outcome }) => outcome === 'ok').length;
    await vi.waitFor(() => expect(accepted()).toBeGreaterThan(40), { timeout: 60_000, interval: 5 });
    await end();
    if (what === 'database') {
      const had = accepted();
      await vi.waitFor(() => expect(accepted()).toBeGreaterThan(had + 40), { timeout: 60_000, interval: 20 });
    }
    over = true;
    await Promise.all(senders);
    if (what !== 'database') server = await startServer(dataDir);
  }
  const rest = restClient(server.url, token);
  const of = (execution = '') => rest.get(`${workflows}/${hook.id}/executions/${execution}`);
  for (const { delivery, outcome, execution } of sent) {
    if (outcome === 'ok')
      await vi.waitFor(
        async () => expect((await of(execution)).body).toMatchObject({ status: 'completed', output: delivery }),
        {
          timeout: 60_000,
          interval: 100,
        },
      );
    else {
      // Sent again, it is accepted once, whether or not it had been.
      const again = [await deliver(delivery), await deliver(delivery)];
      expect(again.map((one) => one.outcome)).toEqual(['ok', 'ok']);
      expect(new Set(again.map((one) => one.execution)).size).toBe(1);
    }
  }
  expect(new Set(sent.map(({ outcome }) => outcome)).has('ok')).toBe(true);
});
