import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Bench, type Benchmark, type Case, check } from './benchmark.ts';
import { makeFixture } from './support/fixture.ts';
import { type LoadOptions, type LoadResult, load } from './support/load.ts';
import { siteRepository } from './support/repositories.ts';
import { root, startFlags, startServer } from './support/server.ts';
import { median } from './support/statistics.ts';

const connections = 16;
const perPage = 30;
/** Of what REST and Apollo would answer one after the other: 1 / (1 / REST + 1 / Apollo) requests a second. */
const wantedShare = 90;

/** The same record, or list of records, by both protocols. */
interface Question {
  name: string;
  rest: string;
  query: string;
  variables: Record<string, unknown>;
  /** What REST answers, taken from the data of GraphQL's answer. */
  restOf(data: Data): unknown;
}

type Json = Record<string, unknown>;
interface Data {
  organization?: Json;
  project?: { studio: { collection: { entries: { nodes: Json[] } } } };
}

const questions: readonly Question[] = [
  {
    name: `page of ${perPage} entries`,
    rest: `/organizations/bench/projects/site/studio/collections/posts?sort=-date&per_page=${perPage}`,
    query: `query Entries($organization: String!, $project: String!, $collection: String!, $first: Int!, $sort: [String!]) {
      project(organization: $organization, project: $project) {
        studio {
          collection(name: $collection) {
            entries(first: $first, sort: $sort) {
              total_count
              page_info { has_next_page end_cursor }
              nodes { slug path sha title url draft locale translation_key frontmatter size }
            }
          }
        }
      }
    }`,
    variables: { organization: 'bench', project: 'site', collection: 'posts', first: perPage, sort: ['-date'] },
    restOf: ({ project }) =>
      project?.studio.collection.entries.nodes.map((entry) => ({ ...entry, collection: 'posts' })),
  },
  {
    name: 'organisation',
    rest: '/organizations/bench',
    query: `query Organization($organization: String!) {
      organization(organization: $organization) {
        name machine_name type region subscription created_at updated_at
        limits { crawl_bytes crawl_max_html execution_days workflow_backlog }
      }
    }`,
    variables: { organization: 'bench' },
    restOf: ({ organization }) => organization,
  },
];

interface Side {
  pid: number;
  request: Omit<LoadOptions, 'connections' | 'duration'>;
}

/** GraphQL has null where REST has no member. */
const withoutNulls = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(
          Object.entries(item)
            .filter(([, member]) => member !== null)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : item,
  );

/** Apollo alone, in a process of its own. */
async function startApollo({ defer }: Bench, rootValue: Data): Promise<{ url: string; pid: number }> {
  const types = await readFile(path.join(root, 'schema.graphql'), 'utf8');
  const child = fork(path.join(import.meta.dirname, 'support/apollo-handler.js'), {
    execArgv: [...startFlags],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  defer(() => void child.kill());
  const failed = once(child, 'exit').then(([code]) => Promise.reject(new Error(`Apollo ended with ${code}`)));
  failed.catch(() => {});
  child.send({ types, rootValue });
  const [port] = (await Promise.race([once(child, 'message'), failed])) as [number];
  return { url: `http://127.0.0.1:${port}/`, pid: child.pid ?? 0 };
}

/** Seconds of the processor a process and its threads have had (Linux proc(5), fields 14 and 15, of 100 ticks a second). */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

interface Measured extends LoadResult {
  /** Milliseconds of the server's processor per answer. */
  cpu: number;
}

async function measure({ pid, request }: Side, duration: number): Promise<Measured> {
  const before = await cpuSeconds(pid);
  const result = await load({ ...request, connections, duration });
  const spent = (await cpuSeconds(pid)) - before;
  return { ...result, cpu: (1000 * spent) / result.answered };
}

async function answerOf({ request: { url, method, headers, body } }: Side): Promise<unknown> {
  const response = await fetch(url, { headers, ...(method && { method, body: body ?? '' }) });
  return response.json();
}

const sideNames = ['graphql', 'rest', 'apollo'] as const;
type Sides<T> = Record<(typeof sideNames)[number], T>;

async function compare({ scaled, say }: Bench, name: string, sides: Sides<Side>) {
  const rounds = scaled(7);
  const seconds = scaled(3);
  const found: Sides<Measured[]> = { graphql: [], rest: [], apollo: [] };
  for (const side of sideNames) await measure(sides[side], scaled(3));
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sideNames) found[side].push(await measure(sides[side], seconds));
    say(`${name}: round ${round + 1} of ${rounds}`);
  }
  const shares = (cost: (measured: Measured) => number) =>
    found.graphql.map((graphql, at) => {
      const { [at]: rest = graphql } = found.rest;
      const { [at]: apollo = graphql } = found.apollo;
      return (100 * (cost(rest) + cost(apollo))) / cost(graphql);
    });
  const row = (what: string, unit: string, of: (measured: Measured) => number): Case => ({
    ...{ name: `${name}: ${what}`, unit, value: median(found.graphql.map(of)), runs: rounds },
    peers: [
      { name: 'REST', value: median(found.rest.map(of)) },
      { name: 'bare Apollo', value: median(found.apollo.map(of)) },
    ],
  });
  const inTime = shares(({ perSecond }) => 1 / perSecond);
  const inWork = shares(({ cpu }) => cpu);
  const share = (what: string, ratios: number[]): Case => ({
    ...{ name: `${name}: ${what}`, unit: '%', value: median(ratios), runs: rounds },
  });
  return {
    cases: [
      { ...share('share of REST and Apollo in series', inTime), atLeast: wantedShare },
      share('the same by processor time', inWork),
      row('answers', 'requests/s', ({ perSecond }) => perSecond),
      row('processor time of an answer', 'ms', ({ cpu }) => cpu),
      row('p50', 'ms', ({ p50 }) => p50),
      row('p99', 'ms', ({ p99 }) => p99),
    ],
    notes: [
      `${name}: shares of the rounds: ${inTime.map((share) => `${Math.round(share)} %`).join(', ')}; by processor time ${inWork.map((share) => `${Math.round(share)} %`).join(', ')}.`,
    ],
  };
}

/** GraphQL against the sum of what it is made of: the same answer by REST, and the same JSON by Apollo alone. */
export const graphql: Benchmark = {
  name: 'graphql',
  summary:
    'A page of entries and an organisation by GraphQL, beside REST and a bare Apollo server with the same answer.',
  async run(bench) {
    const site = await siteRepository({ posts: bench.scaled(1_000), directories: 0 });
    const fixture = await makeFixture(await bench.directory(), { site });
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const authorization = { authorization: `Bearer ${fixture.token}` };
    const posted = { ...authorization, 'content-type': 'application/json' };
    const cases: Case[] = [];
    const notes: string[] = [];
    for (const { name, rest, query, variables, restOf } of questions) {
      const body = JSON.stringify({ query, variables });
      const byRest: Side = {
        pid: server.pid,
        request: { url: `${server.url}/api/v2${rest}`, headers: authorization },
      };
      const byGraphql: Side = {
        pid: server.pid,
        request: { url: `${server.url}/graphql`, method: 'POST', headers: posted, body },
      };
      const answer = (await answerOf(byGraphql)) as { data?: Data };
      check(answer.data !== undefined, `${name}: ${JSON.stringify(answer)}`);
      check(
        withoutNulls(restOf(answer.data)) === withoutNulls(await answerOf(byRest)),
        `${name}: REST answers another record`,
      );
      const apollo = await startApollo(bench, answer.data);
      const byApollo: Side = { pid: apollo.pid, request: { ...byGraphql.request, url: apollo.url } };
      check(
        JSON.stringify(await answerOf(byApollo)) === JSON.stringify(answer),
        `${name}: Apollo gives another answer`,
      );
      const found = await compare(bench, name, { graphql: byGraphql, rest: byRest, apollo: byApollo });
      cases.push(...found.cases);
      notes.push(...found.notes);
    }
    return {
      cases,
      notes: [
        `Rounds of ${bench.scaled(3)} s each, one side after the other, ${connections} connections, from a third process.`,
        'Portico checks token, rights and limits, and logs each request; Apollo has the data in memory, and nothing to check.',
        ...notes,
      ],
    };
  },
};
