import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
const made: string[] = [];
beforeAll(async () => {
  app.clock.now = new Date('2026-01-01T00:00:00Z');
  made.push(await seed(app, siteFiles));
  for (const day of [2, 3, 4]) {
    app.clock.now = new Date(`2026-01-0${day}T00:00:00Z`);
    const body = { body: `Day ${day}\n`, author: { name: `Writer ${day}`, email: `w${day}@example.org` } };
    made.unshift((await app.ask('PUT', `${studio}/collections/posts/en/alpha`, { body })).body.commit.sha);
  }
  app.clock.now = null;
});

const ask = (query = '') => app.ask('GET', `${studio}/commits?${query}`);
const shas = async (query = '') => (await ask(query)).body.map(({ sha }: { sha: string }) => sha);

describe('200', () => {
  it('gives commits newest first, each whole', async () => {
    const { headers, body } = await ask();
    expect(body.map(({ sha }: { sha: string }) => sha)).toEqual(made);
    expect(body[0]).toEqual({
      sha: made[0],
      tree_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
      parents: [made[1]],
      message: expect.stringMatching(/^Update posts\/en\/alpha\n?$/),
      author: {
        name: 'Writer 4',
        email: 'w4@example.org',
        date: expect.stringMatching(/^2026-01-04T00:00:00(Z|\+00:00)$/),
      },
      committer: { name: 'Portico', email: 'portico@portico.test', date: expect.stringContaining('2026-01-04T') },
    });
    expect(body.at(-1).parents).toEqual([]);
    expect(headers.get('x-total-count')).toBe('4');
  });

  it.each([
    ['path=src/content/posts/en/alpha.md', 4],
    ['path=src/content/posts/en/beta.md', 1],
    ['path=src', 4],
    ['path=nothing', 0],
    ['path=*', 0],
    ['path=:(top)src', 0],
    ['collection=posts', 4],
    ['collection=authors', 1],
    ['collection=posts&slug=en/alpha', 4],
    ['collection=posts&slug=en/beta', 1],
    ['author=writer', 3],
    ['author=w2@example', 1],
    ['author=.*', 0],
    ['author=--all', 0],
    ['author=', 4],
    ['since=2026-01-03T00:00:00Z', 2],
    ['until=2026-01-02T00:00:00Z', 2],
    ['since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z', 2],
    ['since=9999-12-31T23:59:59Z', 0],
    ['until=0001-01-01T00:00:00Z', 0],
    ['page=9007199254740991&per_page=100', 0],
    ['page=5000000', 0],
  ])('?%s gives %i', async (query, count) => {
    const answer = await ask(query);
    expect({ status: answer.status, count: answer.body.length }).toEqual({ status: 200, count });
  });

  it('begins at a commit or a branch, and pages', async () => {
    expect(await shas(`ref=${made[2]}`)).toEqual(made.slice(2));
    expect(await shas('branch=main&per_page=3')).toEqual(made.slice(0, 3));
    expect(await shas('per_page=3&page=2')).toEqual(made.slice(3));
    expect((await ask('per_page=3')).headers.get('x-total-count')).toBe('4');
  });
});

describe('304', () => {
  it('until the branch moves', async () => {
    const etag = (await ask('path=src')).headers.get('etag') ?? '';
    expect(etag).toMatch(new RegExp(`^"${made[0]}\\.[0-9a-f]{8}"$`));
    const again = () => app.ask('GET', `${studio}/commits?path=src`, { headers: { 'If-None-Match': etag } });
    expect((await again()).status).toBe(304);
    await seed(app, { 'x.md': 'x\n' });
    expect((await again()).status).toBe(200);
  });
});

describe('400', () => {
  it.each([
    ['path=..', 'invalid_path', /^path: /],
    ['path=/etc', 'invalid_path', /^path: /],
    ['path=.git', 'invalid_path', /^path: /],
    ['path=a%0ab', 'invalid_path', /^path: /],
    ['path=', 'invalid_path', /^path: /],
    ['slug=en/alpha', 'invalid_request', 'slug: needs collection'],
    ['since=yesterday', 'invalid_request', /^since: /],
    ['until=2026-01-01', 'invalid_request', /^until: /],
    ['author=a%0a--all', 'invalid_filter', /^author: /],
    ['author=a%00', 'invalid_filter', /^author: /],
    [`author=${'x'.repeat(201)}`, 'invalid_request', 'author: must be at most 200 characters'],
  ])('?%s', async (query, code, message) => {
    expectRefusal(await ask(query), 400, code, message);
  });
});

describe('404', () => {
  it.each(['branch=none', 'ref=main', `ref=${'1'.repeat(40)}`, 'collection=none', 'collection=posts&slug=none'])(
    '?%s',
    async (query) => {
      expectRefusal(await ask(query), 404, 'not_found', /./);
    },
  );
});
