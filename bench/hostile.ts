import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { routes } from '../src/rest/routes.ts';
import { defaultBodyLimit, mebibyte, pathParameters, type Row } from '../src/rest/table.ts';
import { type Bench, type Benchmark, type Case, check } from './benchmark.ts';
import { probeHealth } from './support/health-probe.ts';
import { signed, startHooked } from './support/hooked.ts';
import { type HostileValue, hostileValues } from './support/hostile-values.ts';
import { freePort } from './support/server.ts';

const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: input.method}\n';
const mostValues = 100_000;
/** What else may have to wait for a request, milliseconds. */
const longestWait = 250;
const together = 8;
/** Of the bodies of an endpoint, those that held the server longest when they came alone are sent at once. */
const mostAtOnce = 3;
/** Bytes for endpoints that do less with a body: what is done with every byte, whatever it is for, is measured at the others. */
const usualBytes = mebibyte;

/** Where hostile bodies go, and what is said of it. */
interface Target {
  name: string;
  method: string;
  url: string;
  headers(body: string): Record<string, string>;
  body(value: HostileValue): string;
}

/** A request that is right but for the named fields, so that these get as far as they can; without fields, its names are hostile themselves. */
interface Aim {
  valid: object;
  fields: string[];
}

const aimed: Record<string, Aim[]> = {
  'studio.createEntry': [
    { valid: { slug: 'hostile' }, fields: ['frontmatter', 'body'] },
    { valid: { slug: 'hostile' }, fields: ['raw'] },
    { valid: {}, fields: [] },
  ],
  'studio.validateEntry': [{ valid: { collection: 'posts', slug: 'hostile' }, fields: ['frontmatter', 'body'] }],
  'studio.commitChanges': [{ valid: {}, fields: ['actions'] }],
  'crawlers.createCrawler': [{ valid: { domain: 'example.com' }, fields: ['include', 'exclude', 'urls', 'headers'] }],
  'crawlers.testUrl': [{ valid: { url: 'https://example.com/a' }, fields: ['include', 'exclude'] }],
  'workflows.createWorkflow': [{ valid: { name: 'Hostile' }, fields: ['definition'] }],
  'workflows.validateWorkflow': [{ valid: {}, fields: ['definition'] }],
  'workflows.runWorkflow': [{ valid: {}, fields: ['input'] }],
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

/** A body with a value in each of the fields, which share what is allowed; without fields the value itself. */
function bodyWith(value: HostileValue, names: readonly string[], limit: number, valid: object = {}): string {
  if (names.length === 0) return value.make(limit - 4_096, mostValues - 50);
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

/** Names of the fields that a body may have. */
function fieldsOf({ operation, path: at }: Row): string[] {
  const inPath = new Set(pathParameters(at));
  return Object.keys(operation.input.shape).filter((name) => !inPath.has(name));
}

/** Endpoints whose bodies mean nothing but for one: all of them read what they ignore in the same way. */
function chosenRows(rows: readonly Row[]): { chosen: Row[]; left: Row[] } {
  const json = rows.filter(takesJson);
  const [, ...left] = json.filter((row) => fieldsOf(row).length === 0);
  return { chosen: json.filter((row) => !left.includes(row)), left };
}

function targetsOf(rows: readonly Row[], url: string, token: string, known: Record<string, string>): Target[] {
  const headers = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
  return rows.flatMap((row) => {
    const { method, operation, bodyLimit: limit = defaultBodyLimit } = row;
    const fields = fieldsOf(row);
    const at = row.path.replace(/[:*]([a-z_]+)/g, (_, name) => known[name] ?? places[name] ?? '1');
    const target = { method: method.toUpperCase(), url: `${url}${at}`, headers };
    const aims = (aimed[operation.name] ?? []).map(({ valid, fields: few }) => ({
      ...target,
      name: `${operation.name}, ${few.join(' ') || 'names'}`,
      body: (value: HostileValue) => bodyWith(value, few, limit, valid),
    }));
    const body = (value: HostileValue) => bodyWith(value, fields.length > 0 ? fields : ['unknown'], usualBytes);
    return [{ ...target, name: operation.name, body }, ...aims];
  });
}

/** Documents and variables for GraphQL. */
function graphqlTargets(url: string, token: string): Target[] {
  const headers = () => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
  const target = { method: 'POST', url: `${url}/graphql`, headers };
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
    {
      ...target,
      name: 'graphql, literal within the limits of a document',
      body: (value) =>
        `{"query":${JSON.stringify(`{ organization(organization: ${value.make(mebibyte - 100, 1_900)}) { name } }`)}}`,
    },
  ];
}

/** Messages of the Model Context Protocol, hostile where its library reads them, and where a tool does. */
function mcpTargets(url: string, token: string): Target[] {
  const headers = () => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  });
  const size = defaultBodyLimit - 4_096;
  const place = '"organization":"demo","project":"site"';
  const shapes: [name: string, method: string, params: (text: string) => string][] = [
    ['metadata', 'tools/list', (text) => `{"_meta":${text}}`],
    ['parameters', 'tools/list', (text) => text],
    ['arguments', 'tools/call', (text) => `{"name":"create_entry","arguments":${text}}`],
    [
      'frontmatter',
      'tools/call',
      (text) =>
        `{"name":"create_entry","arguments":{${place},"collection":"posts","slug":"hostile","frontmatter":${text},"body":""}}`,
    ],
    [
      'capabilities',
      'initialize',
      (text) => `{"protocolVersion":"2025-06-18","capabilities":${text},"clientInfo":{"name":"hostile","version":"1"}}`,
    ],
    [
      'context',
      'completion/complete',
      (text) =>
        `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"},"context":{"arguments":${text}}}`,
    ],
  ];
  return shapes.map(([name, method, params]) => ({
    ...{ name: `mcp, ${name}`, method: 'POST', url: `${url}/mcp`, headers },
    body: (value) =>
      `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params(value.make(size, mostValues - 100))}}`,
  }));
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
  name: string;
  /** Milliseconds of the slowest answer of `/healthz` meanwhile. */
  wait: number;
  /** Milliseconds the server's main thread was on the processor without a pause. */
  hold: number;
  target: Target;
  value: HostileValue;
}

/** What others noticed since the last time. */
type Noticed = () => Promise<{ wait: number; hold: number }>;

interface Found {
  waits: Wait[];
  sent: number;
  statuses: Map<number, number>;
}

/** Sends each body to its target, so many times at once. */
async function attack(
  bench: Bench,
  noticed: Noticed,
  pairs: readonly (readonly [Target, HostileValue])[],
  atOnce: number,
): Promise<Found> {
  const found: Found = { waits: [], sent: 0, statuses: new Map() };
  for (const [number, [target, value]] of pairs.entries()) {
    const body = target.body(value);
    await noticed();
    const answers = await Promise.all(Array.from({ length: atOnce }, () => send(target, body)));
    const one = { ...(await noticed()), name: `${target.name} ← ${value.name}`, target, value };
    for (const status of answers) found.statuses.set(status, (found.statuses.get(status) ?? 0) + 1);
    found.sent += atOnce;
    found.waits.push(one);
    if (one.hold > longestWait)
      bench.say(`${one.name}, ${atOnce} at once: held ${Math.round(one.hold)} ms, /healthz ${Math.round(one.wait)} ms`);
    if (number % 250 === 249) bench.say(`${number + 1} of ${pairs.length} bodies, ${atOnce} at once`);
  }
  return found;
}

/** So many items from all over a list. */
const spread = <T>(items: readonly T[], count: number): T[] =>
  items.filter((_, at) => at % Math.ceil(items.length / count) === 0);

const most = (waits: readonly Wait[], of: 'wait' | 'hold') => waits.toSorted((a, b) => b[of] - a[of]);

const worst = (waits: readonly Wait[], of: 'wait' | 'hold') =>
  most(waits, of)
    .slice(0, 5)
    .map(({ hold, wait, name }) => `${Math.round(hold)} ms (${Math.round(wait)} ms) ${name}`)
    .join('; ');

/** The bodies of each target that held the server longest. */
function dearest(waits: readonly Wait[]): (readonly [Target, HostileValue])[] {
  const byTarget = Map.groupBy(waits, ({ target }) => target);
  return [...byTarget.values()].flatMap((of) =>
    most(of, 'hold')
      .slice(0, mostAtOnce)
      .map(({ target, value }) => [target, value] as const),
  );
}

/** What requests made to be dear do to everybody else. */
export const hostile: Benchmark = {
  name: 'hostile',
  summary: 'How long /healthz has to wait beside hostile bodies at every endpoint.',
  minutes: 45,
  async run(bench) {
    const port = await freePort();
    // A worker would begin what a request with nothing but unknown names starts.
    const { server, dataDir, endpoint, secret } = await startHooked(bench, {
      environment: { PORTICO_ROLES: 'web', PORTICO_AUTH_FAILURE_LIMIT: '1000000', BENCH_HOLDS_PORT: String(port) },
      nodeOptions: ['--import', path.join(import.meta.dirname, 'support/loop-holds.js')],
      definition,
    });
    bench.defer(() => agent.destroy());
    const { token } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as { token: string };
    const slowest = await probeHealth(bench, server.url);
    const noticed: Noticed = async () => {
      const hold = Number(await (await fetch(`http://127.0.0.1:${port}`)).text());
      return { wait: await slowest(), hold };
    };
    const workflow = endpoint.split('/').at(-1) ?? '';
    const { chosen, left } = chosenRows(routes);
    const rest = targetsOf(chosen, server.url, token, { workflow });
    const webhook: Target = {
      ...{ name: 'webhook', method: 'POST', url: endpoint },
      headers: (body) => ({
        ...signed(secret, body),
        'x-github-delivery': createHash('sha1').update(body).digest('hex'),
      }),
      body: (value) => value.make(25 * mebibyte - 4_096, 10_000_000),
    };
    const groups: [string, readonly Target[]][] = [
      ['REST', spread(rest, bench.scaled(rest.length, 3))],
      ['GraphQL', graphqlTargets(server.url, token)],
      ['MCP', mcpTargets(server.url, token)],
      ['webhook', [webhook]],
    ];
    // Its code is loaded by the first request.
    await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"query":"{ me { name } }"}',
    });
    await noticed();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const idle = await noticed();
    const values = spread(hostileValues, bench.scaled(hostileValues.length, 5));
    const cases: Case[] = [];
    const notes: string[] = [];
    const note = (name: string, { waits, sent, statuses }: Found) => {
      check(!statuses.has(500), `${name}: answered 500`);
      const said = { runs: sent, atMost: longestWait };
      const [[held], [waited]] = [most(waits, 'hold'), most(waits, 'wait')];
      cases.push(
        { name: `${name}: longest hold`, unit: 'ms', value: held?.hold ?? Number.NaN, ...said },
        {
          ...{ name: `${name}: slowest /healthz`, unit: 'ms', value: waited?.wait ?? Number.NaN, ...said },
          peers: [{ name: 'idle', value: idle.wait }],
        },
      );
      const answered = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
      notes.push(
        `${name}: ${answered.join(', ')}. Longest holds (slowest /healthz): ${worst(waits, 'hold')}. Slowest of all: ${worst(waits, 'wait')}.`,
      );
    };
    for (const [name, all] of groups) {
      const targets = all.filter((target) => target.name.includes(bench.only ?? ''));
      if (targets.length === 0) continue;
      const alone = await attack(
        bench,
        noticed,
        targets.flatMap((target) => values.map((value) => [target, value] as const)),
        1,
      );
      note(`${name}, one at a time`, alone);
      note(`${name}, ${together} at once`, await attack(bench, noticed, dearest(alone.waits), together));
    }
    return {
      cases,
      notes: [
        `${hostileValues.length} bodies at their limit (100,000 values, or 1 MiB; where a field is aimed at, 10 MiB, 40 MiB of changes, 25 MiB for the webhook) for each of ${chosen.length} JSON endpoints; ${together} at once are the ${mostAtOnce} of each endpoint that held the server longest.`,
        `Left out: ${left.map(({ operation }) => operation.name).join(', ')}, whose bodies have no fields, as ${chosen.find((row) => fieldsOf(row).length === 0)?.operation.name} has none.`,
        'A hold is time of the main thread on the processor between two turns of its event loop. The sender shares the machine; the probe of /healthz is a process of its own with one connection.',
        ...notes,
      ],
    };
  },
};
