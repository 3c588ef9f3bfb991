import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { demoWorkflows, makeDemoWebhook } from '../support/demo-webhook.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { demoDataDir, portico, postmasterPid, settingsFor, startServer } from '../support/server-process.ts';
import { call, sign } from '../support/webhook.ts';

vi.setConfig({ testTimeout: 240_000 });

/** Within which every request has its answer, seconds; the machine may be busy with other tests. */
const longest = 25;
const patience = { timeout: 90_000, interval: 100 };

let over = false;
let thaw = () => {};
afterEach(() => {
  over = true;
  thaw();
});

/** Stops a PostgreSQL with all its processes. @returns lets them go on */
async function freeze(postmaster: number): Promise<() => void> {
  process.kill(postmaster, 'SIGSTOP');
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8');
  const all = [postmaster, ...children.trim().split(' ').map(Number)];
  for (const pid of all) process.kill(pid, 'SIGSTOP');
  return () => {
    for (const pid of all.reverse()) process.kill(pid, 'SIGCONT');
  };
}

interface Answer {
  kind: string;
  /** What was to be made. */
  name: string;
  status: number;
  /** Why it was refused; null when it was not. */
  code: string | null;
  seconds: number;
}

test('while PostgreSQL hangs every request is refused as unavailable in time; afterwards all goes on, nothing is lost or done twice', async ({
  annotate,
}) => {
  const { dataDir } = await demoDataDir();
  const server = await startServer(dataDir);
  const made = await portico(['token', 'create', '--organization', 'demo', '--preset', 'admin'], settingsFor(dataDir));
  const token = made.stdout.trim();
  const rest = restClient(server.url, token);
  const hook = await makeDemoWebhook(server, token);
  const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';
  const graphql = async (query: string, variables: object) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    const answer = JSON.parse(await response.text());
    return {
      status: response.status,
      code: ((answer.errors?.[0]?.extensions?.code ?? answer.code) as string | undefined) ?? null,
    };
  };
  const byRest = async (answered: ReturnType<typeof rest.get>) => {
    const { status, body } = await answered;
    return { status, code: (body?.code as string | undefined) ?? null };
  };
  const createWorkflow = `mutation ($name: String!, $definition: JSON!) {
    createWorkflow(organization: "demo", project: "site", input: {name: $name, definition: $definition}) { id }
  }`;
  const kinds: Record<string, (name: string) => Promise<{ status: number; code: string | null }>> = {
    read: () => byRest(rest.get('/organizations/demo/tokens')),
    content: () => byRest(rest.get(`${demoStudio}/collections`)),
    branch: (name) => byRest(rest.send('POST', `${demoStudio}/branches`, { name })),
    workflow: (name) => byRest(rest.send('POST', demoWorkflows, { name, definition })),
    'GraphQL read': () => graphql('{ organizations(first: 1) { total_count } }', {}),
    'GraphQL workflow': (name) => graphql(createWorkflow, { name, definition }),
    execution: (name) =>
      byRest(rest.send('POST', `${demoWorkflows}/${hook.id}/executions`, {}, { 'Idempotency-Key': name })),
    async webhook(delivery) {
      const headers = { 'x-hub-signature-256': sign(hook.secret, '{}'), 'x-github-delivery': delivery };
      const { status } = await call(server.url, hook.endpoint, { body: '{}', headers });
      return { status, code: status === 503 ? 'unavailable' : null };
    },
  };
  const answers: Answer[] = [];
  const sender = async (kind: string, send: (typeof kinds)[string]) => {
    while (!over) {
      const name = `${kind.toLowerCase().replaceAll(' ', '-')}-${randomUUID()}`;
      const began = performance.now();
      const { status, code } = await send(name).catch((error: unknown) => ({ status: 0, code: String(error) }));
      answers.push({ kind, name, status, code, seconds: (performance.now() - began) / 1000 });
      await setTimeout(100);
    }
  };
  const senders = Object.entries(kinds).map(([kind, send]) => sender(kind, send));
  const isRefused = ({ code }: Answer) => code === 'unavailable' || code === 'UNAVAILABLE';
  const everyKind = (least: number, since: number, fits: (answer: Answer) => boolean) =>
    vi.waitFor(() => {
      const those = answers.slice(since);
      const few = Object.keys(kinds).filter(
        (kind) => those.filter((answer) => answer.kind === kind && fits(answer)).length < least,
      );
      expect(few.map((kind) => those.findLast((answer) => answer.kind === kind) ?? kind)).toEqual([]);
    }, patience);
  await everyKind(3, 0, (answer) => !isRefused(answer));

  const postmaster = (await postmasterPid(dataDir)) ?? 0;
  for (let round = 0; round < 2; round += 1) {
    const before = answers.length;
    thaw = await freeze(postmaster);
    // Collections and cached rights need no database; all others are refused, again and again.
    const needs = ({ kind }: Answer) => kind === 'content' || kind === 'branch';
    await everyKind(3, before, (answer) => isRefused(answer) || needs(answer));
    thaw();
    thaw = () => {};
    const after = answers.length;
    await everyKind(3, after, (answer) => !isRefused(answer));
  }
  over = true;
  await Promise.all(senders);

  const refused = answers.filter(isRefused);
  const worst = Math.max(...answers.map(({ seconds }) => seconds));
  await annotate(`${answers.length} answers, ${refused.length} refused; the slowest after ${worst.toFixed(1)} s`);
  const seen = [...new Set(answers.map(({ kind, status, code }) => `${kind}: ${status} ${code}`))].sort();
  expect(
    seen.filter(
      (one) => !/: (?:20\d null|503 unavailable|200 UNAVAILABLE|503 UNAVAILABLE|401 unauthorized)$/.test(one),
    ),
  ).toEqual([]);
  expect(worst).toBeLessThan(longest);

  /** Names of one kind as the service has them now. */
  const namesOf = async (path: string): Promise<string[]> => {
    const names: string[] = [];
    for (let page = 1; ; page += 1) {
      const { body } = await rest.get(`${path}?per_page=100&page=${page}`);
      names.push(...body.map(({ name }: { name: string }) => name));
      if (body.length < 100) return names;
    }
  };
  const workflows = await namesOf(demoWorkflows);
  const branches = await namesOf(`${demoStudio}/branches`);
  for (const { kind, name, code } of answers) {
    if (!['branch', 'workflow', 'GraphQL workflow'].includes(kind)) continue;
    const count = (kind === 'branch' ? branches : workflows).filter((one) => one === name).length;
    // What was refused may have been done all the same, once.
    expect([name, code === null ? count === 1 : count <= 1]).toEqual([name, true]);
  }
  // Repeating a request with the same key, or a delivery, gives one execution for each.
  const again = answers.filter(({ kind }) => kind === 'webhook' || kind === 'execution');
  for (const { kind, name } of again)
    await vi.waitFor(async () => {
      const { status, code } = await (kinds[kind] as (typeof kinds)[string])(name);
      expect([kind, code, status < 300]).toEqual([kind, null, true]);
    }, patience);
  const list = await rest.get(`${demoWorkflows}/${hook.id}/executions?per_page=1`);
  expect(Number(list.headers.get('x-total-count'))).toBe(again.length);
  expect((await server.stop()).code).toBe(0);
});
