import { beforeAll, describe, expect, it } from 'vitest';
import { pageInput } from '../../src/kernel/paging.ts';
import { routes } from '../../src/rest/routes.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const project = `${acme}/projects/site`;
const numbers = (count: number) => Array.from({ length: count }, (_, at) => String(at + 10));
/** Lists that answer with all they have while no page is requested, and how many items each has here: over 30 where the limits allow. */
const counts = { crawlers: 31, schedules: 5, triggers: 4, secrets: 31, schema: 31, collections: 31 };
type Name = keyof typeof counts;
const names = Object.keys(counts) as Name[];

const app = shared(startTestApp);
let at: Record<Name, string>;

const made = async (path: string, body: object) => {
  const answer = await app.ask('POST', path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  await seed(
    app,
    Object.fromEntries(numbers(31).map((n) => [`content/c${n}/one.md`, `---\ntitle: One of ${n}\n---\n`])),
  );
  const crawlers = [];
  for (const n of numbers(31)) crawlers.push(await made(`${project}/crawlers`, { domain: `d${n}.example` }));
  const schedules = `${project}/crawlers/${crawlers[0].uuid}/schedules`;
  for (let n = 0; n < 5; n += 1) await made(schedules, { schedule_cron_string: `${n} 0 * * *` });
  const steps = [{ id: 'note', type: 'transform', expression: '1' }];
  const definition = JSON.stringify({ portico: 'workflow/1', name: 'W', steps });
  const workflow = `${project}/workflows/${(await made(`${project}/workflows`, { name: 'W', definition })).id}`;
  await made(`${workflow}/triggers`, { type: 'webhook' });
  for (let n = 0; n < 3; n += 1)
    await made(`${workflow}/triggers`, { type: 'cron', schedule_cron_string: `${n} 0 * * *` });
  for (const n of numbers(31))
    expect((await app.ask('PUT', `${workflow}/secrets/S${n}`, { body: { value: 'x' } })).status).toBe(204);
  at = {
    crawlers: `${project}/crawlers`,
    schedules,
    triggers: `${workflow}/triggers`,
    secrets: `${workflow}/secrets`,
    schema: `${studio}/schema`,
    collections: `${studio}/collections`,
  };
});

describe.each(names)('GET %s', (name) => {
  const get = (query = '') => app.ask('GET', `${at[name]}${query}`);

  it('answers with the whole list when neither page nor per_page is given', async () => {
    const { status, headers, body } = await get();
    expect([status, body.length]).toEqual([200, counts[name]]);
    expect(headers.get('x-total-count')).toBe(String(counts[name]));
    expect(headers.get('link')).toBe(`<${at[name]}>; rel="first", <${at[name]}>; rel="last"`);
  });

  it('gives each item once, page by page, in the same order', async () => {
    const whole = (await get()).body;
    const seen = [];
    let next: string | undefined = '?per_page=2';
    while (next !== undefined) {
      const { status, headers, body } = await get(next);
      expect([status, headers.get('x-total-count')]).toEqual([200, String(counts[name])]);
      seen.push(...body);
      next = /<[^>]*(\?[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(seen).toEqual(whole);
    const half = Math.ceil(counts[name] / 2);
    expect((await get(`?per_page=2&page=${half}`)).body).toEqual(whole.slice((half - 1) * 2));
    expect((await get(`?per_page=2&page=${half + 1}`)).body).toEqual([]);
  });

  it('has 30 items a page when only page is given, at most 100, and nothing past the end', async () => {
    const { headers, body } = await get('?page=1');
    expect(body.length).toBe(Math.min(30, counts[name]));
    expect(headers.get('link')).toContain('page=1&per_page=30');
    expect((await get('?per_page=100')).headers.get('link')).toContain('per_page=100&page=1>');
    expect((await get('?per_page=101')).headers.get('link')).toContain('per_page=100&page=1>');
    expect((await get('?page=1000')).body).toEqual([]);
  });

  it.each([
    ['page=0', 'page: must be at least 1'],
    ['page=x', 'page: must be a number'],
    ['per_page=0', 'per_page: must be at least 1'],
    ['per_page=-1', 'per_page: must be at least 1'],
    ['per_page=all', 'per_page: must be a number'],
  ])('returns 400 for ?%s', async (query, message) => {
    expectRefusal(await get(`?${query}`), 400, 'invalid_request', message);
  });
});

it('every list pages, but the two logs that are read by sequence', () => {
  const lists = routes.filter(({ method, operation: { output } }) => {
    const { type, shape } = output._zod.def;
    return method === 'get' && (type === 'array' || (type === 'object' && shape.cursors && shape.items));
  });
  const unpaged = lists.filter(({ operation: { input } }) => !Object.keys(pageInput).every((it) => it in input.shape));
  expect(lists.length).toBeGreaterThan(30);
  expect(unpaged.map(({ operation: { name } }) => name)).toEqual([
    'crawlers.listRunLog',
    'workflows.listExecutionEvents',
  ]);
});
