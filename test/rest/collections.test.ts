import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const collections = `${studio}/collections`;

describe('200', () => {
  it('lists by name, each with its schema and its counts', async () => {
    const { status, headers, body } = await app.ask('GET', collections);
    expect(status).toBe(200);
    const schemas = (await app.ask('GET', `${studio}/schema`)).body;
    expect(body).toEqual([
      {
        name: 'authors',
        label: expect.any(String),
        kind: 'page',
        path: 'src/content/authors',
        format: 'yaml',
        entries_count: 2,
        invalid_count: 0,
        schema: schemas[0],
      },
      {
        name: 'posts',
        label: expect.any(String),
        kind: 'page',
        path: 'src/content/posts',
        format: 'yaml',
        entries_count: 4,
        invalid_count: 0,
        schema: schemas[1],
      },
    ]);
    expect(headers.get('x-total-count')).toBe('2');
  });

  it('counts what cannot be read or breaks the schema', async () => {
    await seed(app, {
      'src/content/posts/en/bad.md': '---\ntitle: 5\nauthor: ada\n---\n',
      'src/content/posts/en/worse.md': '---\n: [\n---\n',
    });
    expect((await app.ask('GET', collections)).body[1]).toMatchObject({ entries_count: 6, invalid_count: 2 });
    for (const slug of ['bad', 'worse']) await app.ask('DELETE', `${collections}/posts/en/${slug}`);
    expect((await app.ask('GET', collections)).body[1]).toMatchObject({ entries_count: 4, invalid_count: 0 });
  });

  it('pages', async () => {
    const { headers, body } = await app.ask('GET', `${collections}?per_page=1&page=2`);
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['posts']);
    expect(headers.get('link')).toContain('rel="prev"');
    expect((await app.ask('GET', `${collections}?page=3`)).body).toEqual([]);
  });

  it('answers 304 until content or schemas change', async () => {
    const etag = (await app.ask('GET', collections)).headers.get('etag') ?? '';
    const again = () => app.ask('GET', collections, { headers: { 'If-None-Match': etag } });
    expect((await again()).status).toBe(304);
    await seed(app, { 'src/content/posts/en/more.md': '---\ntitle: More\nauthor: ada\n---\n' });
    expect((await again()).status).toBe(200);
  });

  it('reads a commit', async () => {
    const { sha } = (await app.ask('GET', `${studio}/commits`)).body.at(-1);
    expect((await app.ask('GET', `${collections}?ref=${sha}`)).body[1].entries_count).toBe(4);
  });
});

describe('400 and 404', () => {
  it('both a branch and a ref; an unknown one', async () => {
    const both = await app.ask('GET', `${collections}?branch=main&ref=${'0'.repeat(40)}`);
    expectRefusal(both, 400, 'invalid_request', 'ref: excludes branch; give one of the two');
    expectRefusal(await app.ask('GET', `${collections}?branch=none`), 404, 'not_found', 'branch: none does not exist');
  });
});
