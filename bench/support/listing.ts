import { setTimeout as delay } from 'node:timers/promises';
import { check } from '../benchmark.ts';
import type { Answer, Client } from './client.ts';
import { tags } from './content.ts';
import type { RunningServer } from './server.ts';

export const perPage = 30;

const sorts = ['-date', 'title', '-date,title', 'draft,-date'];
const filters = [
  'filter[draft][eq]=false',
  'filter[date][gte]=2020-01-01',
  ...tags.slice(0, 4).map((tag) => `filter[tags][contains]=${tag}`),
];
/** Every combination of an order and a filter, as a query. */
export const lists = sorts.flatMap((sort) => filters.map((filter) => `sort=${sort}&${filter}`));

export const listPath = (studio: string, list: string, page = 1) =>
  `${studio}/collections/posts?${list}&per_page=${perPage}&page=${page}`;

export const totalOf = ({ headers }: Answer) => Number(headers['x-total-count']);
export const itemsOf = ({ body }: Answer) =>
  JSON.parse(body.toString('utf8')) as { slug: string; frontmatter: Record<string, unknown> }[];

/** What the server took for requests; the log may lag behind the answers. */
async function tookOf(server: RunningServer, ids: ReadonlySet<string>): Promise<number[]> {
  for (let tries = 0; ; tries += 1) {
    const took = [...(await server.durations())].flatMap(([id, duration]) => (ids.has(id) ? [duration] : []));
    if (took.length === ids.size || tries === 100) return took;
    await delay(20);
  }
}

/** Repeats a request, each answer checked outside of its time. @returns what the client waited and the server took, milliseconds */
export async function repeat(
  times: number,
  server: RunningServer,
  once: (at: number) => Promise<Answer>,
): Promise<{ waited: number[]; took: number[] }> {
  const answers: Pick<Answer, 'milliseconds' | 'id'>[] = [];
  for (let at = 0; at < times; at += 1) {
    const { milliseconds, id } = await once(at);
    answers.push({ milliseconds, id });
  }
  const took = await tookOf(server, new Set(answers.map(({ id }) => id)));
  check(took.length === times, `The log contains ${took.length} of ${times} requests`);
  return { waited: answers.map(({ milliseconds }) => milliseconds), took };
}

/** Gets the page of a list and holds it against the number of entries there have to be. */
export async function getList(client: Client, path: string, total: number): Promise<Answer> {
  const answer = await client.send(path);
  check(totalOf(answer) === total, `${path}: ${totalOf(answer)} entries in place of ${total}`);
  check(itemsOf(answer).length === Math.min(perPage, total), `${path}: ${itemsOf(answer).length} entries on the page`);
  return answer;
}
