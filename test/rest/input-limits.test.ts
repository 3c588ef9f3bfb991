import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const posts = `${studio}/collections/posts`;
const levels = 'body: is nested more than 100 levels deep; send flatter data';
const values = 'body: has more than 100000 values; split it into several requests';
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const items = (count: number) => Array.from({ length: count }, () => '1').join(',');

describe('400', () => {
  it.each([
    ['101 levels', `{"unknown":${nested(100)}}`, levels],
    ['a deep list in a token that may only read', `{"frontmatter":${nested(150_000)}}`, levels],
    ['100,001 values', `{"unknown":[${items(99_999)}]}`, values],
    ['half a million unknown names', `{${Array.from({ length: 500_000 }, (_, at) => `"k${at}":0`).join(',')}}`, values],
  ])('%s', async (_what, body, message) => {
    expectRefusal(await app.ask('POST', `${studio}/validate`, { body }), 400, 'invalid_request', message);
    expectRefusal(await app.ask('POST', posts, { body }), 400, 'invalid_request', message);
    const graphql = await app.ask('POST', '/graphql', { body });
    expect(graphql).toMatchObject({ status: 400, body: { message, code: 'invalid_request' } });
  });

  it.each([
    ['100 levels', `{"name":"","unknown":${nested(99)}}`],
    ['100,000 values', `{"name":"","unknown":[${items(99_997)}]}`],
  ])('is about the field alone at %s', async (_what, body) => {
    const answer = await app.ask('POST', `${studio}/branches`, { body });
    expect({ status: answer.status, message: answer.body.message }).toEqual({
      status: 422,
      message: 'name: must not be empty',
    });
  });

  it('is given to a query that is nested thousands of levels deep, also beside a body with the same name', async () => {
    const deep = '[a]'.repeat(5_000);
    const message = 'is nested more than 100 levels deep';
    expectRefusal(await app.ask('GET', `${posts}?filter${deep}=1`), 400, 'invalid_request', `filter: ${message}`);
    const twice = await app.ask('POST', `${posts}?frontmatter${deep}=1`, {
      body: { slug: 'a', frontmatter: { a: 1 } },
    });
    expectRefusal(twice, 400, 'invalid_request', `frontmatter: ${message}`);
  });

  it('names a hundred faults of any number', async () => {
    const body = {
      domain: 'many.test',
      headers: Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [at, at])),
    };
    const answer = await app.ask('POST', `${studio.replace('/studio', '/crawlers')}`, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.details.errors.length).toBeLessThanOrEqual(100);
  });

  it('judges a text that is far too long by its length', async () => {
    const answer = await app.ask('POST', `${studio}/collections/posts`, {
      body: { slug: 'a', message: ' '.repeat(5_000_000), frontmatter: {} },
    });
    expectRefusal(answer, 400, 'invalid_request', 'message: must be at most 65536 characters');
  });
});

it('a field of GraphQL may be as deep as the body', async () => {
  const query =
    'mutation ($input: CreateEntryInput!) { createEntry(organization: "acme", project: "site", input: $input) { slug } }';
  const frontmatter = (depth: number) => ({ title: 'T', deep: JSON.parse(nested(depth)) });
  const ask = (depth: number) =>
    app.ask('POST', '/graphql', {
      body: { query, variables: { input: { collection: 'posts', slug: 'deep', frontmatter: frontmatter(depth) } } },
    });
  expect((await ask(97)).status).toBe(400);
  expect((await ask(96)).status).toBe(200);
});
