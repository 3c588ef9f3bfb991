import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { routes } from '../src/rest/routes.ts';
import { defaultBodyLimit, mebibyte, pathParameters, type Row } from '../src/rest/table.ts';
import { type Bench, type Benchmark, type Case, check } from './benchmark.ts';
import { probeHealth, type Slowest } from './support/health-probe.ts';
import { signed, startHooked } from './support/hooked.ts';
import { type HostileValue, hostileValues } from './support/hostile-values.ts';

const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: input.method}\n';
const mostValues = 100_000;
/** What else may have to wait for a request, milliseconds. */
const longestWait = 250;
const together = 8;

/** Where hostile bodies go, and what is said of it. */
interface Target {
  name: string;
  method: string;
  url: string;
  limit: number;
  headers(body: string): Record<string, string>;
  body(value: HostileValue): string;
}

/** Requests that are right but for the named fields, so that these get as far as they can. */
const aimed: Record<string, { valid: object; fields: string[] }> = {
  'studio.createEntry': { valid: { slug: 'hostile' }, fields: ['frontmatter', 'body'] },
  'studio.validateEntry': { valid: { collection: 'posts', slug: 'hostile' }, fields: ['frontmatter', 'body'] },
  'studio.commitChanges': { valid: {}, fields: ['actions'] },
  'crawlers.createCrawler': { valid: { domain: 'example.com' }, fields: ['include', 'exclude', 'urls', 'headers'] },
  'crawlers.testUrl': { valid: { url: 'https://example.com/a' }, fields: ['include', 'exclude'] },
  'workflows.createWorkflow': { valid: {}, fields: ['definition'] },
  'workflows.validateWorkflow': { valid: {}, fields: ['definition'] },
  'workflows.runWorkflow': { valid: {}, fields: ['input'] },
};

/** A value as a field takes it, where that is known. */
function inField(name: string, value: HostileValue, bytes: number, values: number): string {
  if (name === 'frontmatter') {
    const made = value.make(bytes - 30, values - 3);
    return made.startsWith('{') ? made : `{"title":"T","hostile":${made}}`;
  }
  if (name === 'actions') {
    const count = 50;
    const frontmatter = inField('frontmatter', value, bytes / count - 200, values / count - 8);
    return `[${Array.from({ length: count }, (_, at) => `{"op":"create","collection":"posts","slug":"hostile-${at}","frontmatter":${frontmatter},"body":""}`).join(',')}]`;
  }
  return value.make(bytes, values);
}

/** A body with a value in each of the fields, which share what is allowed. */
function bodyWith(value: HostileValue, fields: readonly string[], limit: number, valid: object = {}): string {
  const names = fields.length > 0 ? fields : ['unknown'];
  const bytes = Math.floor((limit - 4_096) / names.length) - 40;
  const values = Math.floor((mostValues - 50) / names.length) - 2;
  const members = names.map((name) => `${JSON.stringify(name)}:${inField(name, value, bytes, values)}`);
  const rest = Object.entries(valid).map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`);
  return `{${[...rest, ...members].join(',')}}`;
}

/** Values of the path's parameters that lead as far as possible. */
const places: Record<string, string> = {
  organization: 'demo',
  project: 'site',
  collection: 'posts',
  entry: 'hostile',
  media: 'public/hostile.png',
};

const takesJson = ({ method, signedBy }: Row) => ['post', 'put', 'patch'].includes(method) && signedBy === undefined;

function targetsOf(rows: readonly Row[], url: string, token: string, known: Record<string, string>): Target[] {
  const headers = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
  return rows.filter(takesJson).flatMap((row) => {
    const { method, operation, bodyLimit: limit = defaultBodyLimit } = row;
    const inPath = new Set(pathParameters(row.path));
    const fields = Object.keys(operation.input.shape).filter((name) => !inPath.has(name));
    const at = row.path.replace(/[:*]([a-z_]+)/g, (_, name) => known[name] ?? places[name] ?? '1');
    const target = { method: method.toUpperCase(), url: `${url}${at}`, limit, headers };
    const some = aimed[operation.name];
    return [
      { ...target, name: operation.name, body: (value: HostileValue) => bodyWith(value, fields, limit) },
      ...(some
        ? [
            {
              ...target,
              name: `${operation.name}, ${some.fields.join(' ')}`,
              body: (value: HostileValue) => bodyWith(value, some.fields, limit, some.valid),
            },
          ]
        : []),
    ];
  });
}

/** Documents and variables for GraphQL. */
function graphqlTargets(url: string, token: string): Target[] {
  const headers = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
  const target = { method: 'POST', url: `${url}/graphql`, limit: defaultBodyLimit, headers };
  const size = defaultBodyLimit - 4_096;
  const command =
    'mutation ($input: CreateEntryInput!) { createEntry(organization: "demo", project: "site", input: $input) { slug } }';
  return [
    {
      ...target,
      name: 'graphql, variables',
      body: (value) => `{"query":${JSON.stringify(command)},"variables":${bodyWith(value, ['input'], size - 500)}}`,
    },
    {
      ...target,
      name: 'graphql, frontmatter',
      body: (value) =>
        `{"query":${JSON.stringify(command)},"variables":{"input":${bodyWith(value, ['frontmatter', 'body'], size - 500, { collection: 'posts', slug: 'hostile' })}}}`,
    },
    { ...target, name: 'graphql, any member', body: (value) => bodyWith(value, ['query', 'variables', 'x'], size) },
    {
      ...target,
      name: 'graphql, literal',
      body: (value) =>
        `{"query":${JSON.stringify(`{ organization(organization: ${value.make(Math.floor(size / 7), mostValues)}) { name } }`)}}`,
    },
  ];
}

const agent = new Agent({ keepAlive: true, maxSockets: together });

/** Sends a body whatever becomes of it. @returns the status; 0: the connection was closed */
function send({ method, url, headers }: Target, body: string): Promise<number> {
  return new Promise((resolve) => {
    const bytes = Buffer.from(body);
    const sent = request(url, { agent, method, headers: { ...headers(body), 'content-length': bytes.length } });
    sent.setTimeout(120_000, () => sent.destroy());
    sent.once('error', () => resolve(0));
    sent.once('response', (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0));
    });
    sent.end(bytes);
  });
}

interface Wait {
  milliseconds: number;
  name: string;
}

/** Sends every value to every target, so many at once. */
async function attack(
  bench: Bench,
  slowest: Slowest,
  targets: readonly Target[],
  atOnce: number,
): Promise<{ waits: Wait[]; sent: number; statuses: Map<number, number> }> {
  const waits: Wait[] = [];
  const statuses = new Map<number, number>();
  let sent = 0;
  const values = spread(hostileValues, bench.scaled(hostileValues.length, 5));
  for (const [number, target] of targets.entries()) {
    for (const value of values) {
      const body = target.body(value);
      await slowest();
      const answers = await Promise.all(Array.from({ length: atOnce }, () => send(target, body)));
      for (const status of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      sent += atOnce;
      waits.push({ milliseconds: await slowest(), name: `${target.name} ← ${value.name}` });
    }
    if (number % 10 === 9) bench.say(`${number + 1} of ${targets.length} endpoints, ${atOnce} at once`);
  }
  return { waits: waits.sort((a, b) => b.milliseconds - a.milliseconds), sent, statuses };
}

/** So many items from all over a list. */
const spread = <T>(items: readonly T[], count: number): T[] =>
  items.filter((_, at) => at % Math.ceil(items.length / count) === 0);

const worst = (waits: readonly Wait[]) =>
  waits
    .slice(0, 5)
    .map(({ milliseconds, name }) => `${Math.round(milliseconds)} ms ${name}`)
    .join('; ');

/** What requests made to be dear do to everybody else. */
export const hostile: Benchmark = {
  name: 'hostile',
  summary: 'How long /healthz has to wait beside hostile bodies at every endpoint.',
  minutes: 60,
  async run(bench) {
    // A worker would begin what a request with nothing but unknown names starts.
    const { server, dataDir, door, secret } = await startHooked(bench, {
      environment: { PORTICO_ROLES: 'web', PORTICO_AUTH_FAILURE_LIMIT: '1000000' },
      definition,
    });
    bench.defer(() => agent.destroy());
    const { token } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as { token: string };
    const slowest = await probeHealth(bench, server.url);
    const workflow = door.split('/').at(-1) ?? '';
    const rest = targetsOf(routes, server.url, token, { workflow });
    const webhook: Target = {
      ...{ name: 'webhook', method: 'POST', url: door, limit: 25 * mebibyte },
      headers: (body) => ({
        ...signed(secret, body),
        'x-github-delivery': createHash('sha1').update(body).digest('hex'),
      }),
      body: (value) => value.make(25 * mebibyte - 4_096, 10_000_000),
    };
    const groups: [string, readonly Target[]][] = [
      ['REST', spread(rest, bench.scaled(rest.length, 3))],
      ['GraphQL', graphqlTargets(server.url, token)],
      ['webhook', [webhook]],
    ];
    // Its code is loaded by the first request.
    await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"query":"{ me { name } }"}',
    });
    await slowest();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const idle = await slowest();
    const cases: Case[] = [];
    const notes: string[] = [];
    for (const atOnce of [1, together]) {
      for (const [name, targets] of groups) {
        const { waits, sent, statuses } = await attack(bench, slowest, targets, atOnce);
        check(!statuses.has(500), `${name}: answered 500`);
        const how = atOnce === 1 ? 'one at a time' : `${atOnce} at once`;
        cases.push({
          ...{ name: `${name}, ${how}: slowest /healthz`, unit: 'ms', value: waits[0]?.milliseconds ?? Number.NaN },
          ...{ runs: sent, atMost: longestWait, peers: [{ name: 'idle', value: idle }] },
        });
        const answered = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
        notes.push(`${name}, ${how}: ${answered.join(', ')}. Slowest: ${worst(waits)}.`);
      }
    }
    return {
      cases,
      notes: [
        `${hostileValues.length} bodies at their limit (10 MiB, 40 MiB for changes and media, 25 MiB for the webhook, or 100,000 values) for each of ${rest.length} JSON endpoints.`,
        'The sender shares the machine; the probe is a process of its own with one connection.',
        ...notes,
      ],
    };
  },
};
