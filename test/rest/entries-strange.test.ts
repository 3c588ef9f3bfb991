import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
const posts = `${studio}/collections/posts`;
const notes = `${studio}/collections/notes`;
const home = 'src/content/posts';

const own = (date: string, rank: number) =>
  `---\ntitle: N\nwhen: ${date}\n__proto__:\n  rank: ${rank}\nconstructor: c${rank}\nprototype: p\n---\nText\n`;

beforeAll(() =>
  seed(app, {
    ...siteFiles,
    [`${home}/en/broken.md`]: '---\ntitle: [\n---\n',
    [`${home}/en/faulty.md`]: '---\ntitle: 5\ndate: 2026-01-01T00:30:00+02:00\nauthor: nobody\n---\n',
    'content/notes/a.md': own('2024-01-01T01:00:00+02:00', 2),
    'content/notes/b.md': own('2023-12-31T23:30:00Z', 10),
    'content/notes/c.md': own('2024-01-01', 1),
    'content/notes/d.md': own('2024-01-01T00:00:00-01:00', 3),
  }),
);

/** Files that came by a push: no endpoint writes such names. */
const pushed: Record<string, string> = {
  [`${home}/en/back\\slash.md`]: '---\ntitle: Back\nauthor: ada\n---\nBack\\slash\n',
  [`${home}/en/tab\tbed.md`]: '---\ntitle: Tab\nauthor: ada\n---\nTab\n',
  'public/odd\\name\t1.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
  'public/dir\\x/in.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
};

async function push(): Promise<void> {
  const git = (await app.repository()) as unknown as { gitDir: string };
  const files = Object.entries(pushed).map(
    ([path, text]) => `M 100644 inline ${JSON.stringify(path)}\ndata ${Buffer.byteLength(text)}\n${text}\n`,
  );
  const input = `commit refs/heads/main\ncommitter P <p@portico.test> 1700000000 +0000\ndata 4\nPush\nfrom refs/heads/main^0\n${files.join('')}\n`;
  execFileSync('git', ['-C', git.gitDir, 'fast-import', '--quiet'], { input });
}

const list = async (at: string, query: string) =>
  (await app.ask('GET', `${at}?${query}`)).body.map(({ slug }: { slug: string }) => slug);
const graphql = async (selection: string) =>
  (
    await app.ask('POST', '/graphql', {
      body: { query: `{ project(organization: "acme", project: "site") { studio { ${selection} } } }` },
    })
  ).body;

describe('dates', () => {
  it('sort and filter as instants in a list', async () => {
    expect(await list(notes, 'sort=when')).toEqual(['a', 'b', 'c', 'd']);
    expect(await list(notes, 'sort=-when')).toEqual(['d', 'c', 'b', 'a']);
    expect(await list(notes, 'filter[when][gte]=2024-01-01')).toEqual(['c', 'd']);
    expect(await list(notes, 'filter[when][lt]=2024')).toEqual(['a', 'b']);
    expect(await list(notes, `filter[when][eq]=${encodeURIComponent('2024-01-01T02:00:00+02:00')}`)).toEqual(['c']);
  });
});

describe('invalid=true', () => {
  it('lists what is invalid, with the faults, and nothing else', async () => {
    const { status, headers, body } = await app.ask('GET', `${posts}?invalid=true`);
    expect(status).toBe(200);
    expect(headers.get('x-total-count')).toBe('2');
    expect(body).toMatchObject([
      {
        slug: 'en/broken',
        frontmatter: null,
        faults: [{ field: '/frontmatter', code: 'frontmatter_invalid', line: 3, column: 1 }],
      },
      {
        slug: 'en/faulty',
        faults: [
          { field: '/frontmatter/title', code: 'type' },
          { field: '/frontmatter/author', code: 'reference' },
        ],
      },
    ]);
    const count = (await app.ask('GET', `${studio}/collections`)).body.find(
      ({ name }: { name: string }) => name === 'posts',
    );
    expect(count.invalid_count).toBe(2);
    for (const item of (await app.ask('GET', posts)).body) expect(item).not.toHaveProperty('faults');
    expect(await list(posts, 'invalid=false')).toHaveLength(6);
  });

  it('has its like for one entry, which names what is wrong with it', async () => {
    const one = await app.ask('GET', `${posts}/en/faulty?include=faults`);
    expect(one.body.faults).toMatchObject([
      { field: '/frontmatter/title', code: 'type' },
      { field: '/frontmatter/author', code: 'reference' },
    ]);
    const broken = await app.ask('GET', `${posts}/en/broken?include=faults`);
    expect(broken.body.faults).toMatchObject([{ field: '/frontmatter', code: 'frontmatter_invalid' }]);
    expect((await app.ask('GET', `${posts}/en/faulty`)).body).not.toHaveProperty('faults');
    const { data } = await graphql('entry(collection: "posts", slug: "en/faulty") { faults { field code } }');
    expect(data.project.studio.entry.faults).toMatchObject([{ code: 'type' }, { code: 'reference' }]);
    expectRefusal(await app.ask('GET', `${posts}/en/faulty?include=body`), 400, 'invalid_request', /^include/);
  });

  it('is paged, and goes with other selections', async () => {
    expect(await list(posts, 'invalid=true&per_page=1&page=2')).toEqual(['en/faulty']);
    expect(await list(posts, 'invalid=true&filter[title][exists]=true&sort=-slug')).toEqual(['en/faulty', 'en/broken']);
    expect(await list(posts, 'invalid=true&dir=de')).toEqual([]);
    expectRefusal(await app.ask('GET', `${posts}?invalid=perhaps`), 400, 'invalid_request', /^invalid: /);
  });

  it('is a connection in GraphQL', async () => {
    const first = await graphql(
      'collection(name: "posts") { entries(invalid: true, first: 1) { total_count page_info { end_cursor } nodes { slug faults { field code message } } } }',
    );
    expect(first.errors).toBeUndefined();
    const { entries } = first.data.project.studio.collection;
    expect(entries).toMatchObject({
      total_count: 2,
      nodes: [{ slug: 'en/broken', faults: [{ code: 'frontmatter_invalid' }] }],
    });
    const after = JSON.stringify(entries.page_info.end_cursor);
    const next = await graphql(
      `collection(name: "posts") { entries(invalid: true, first: 5, after: ${after}) { nodes { slug } } }`,
    );
    expect(next.data.project.studio.collection.entries.nodes).toEqual([{ slug: 'en/faulty' }]);
  });

  it('follows what happens in other collections', async () => {
    const tag = (await app.ask('GET', `${posts}?invalid=true`)).headers.get('etag') ?? '';
    await app.ask('POST', `${studio}/collections/authors`, { body: { slug: 'eve', frontmatter: { name: 'Eve' } } });
    await app.ask('POST', posts, { body: { slug: 'en/by-eve', frontmatter: { title: 'E', author: 'eve' } } });
    expect(await list(posts, 'invalid=true')).toEqual(['en/broken', 'en/faulty']);
    const tagOfOne = (await app.ask('GET', `${posts}/en/by-eve?include=faults`)).headers.get('etag') ?? '';
    expect((await app.ask('DELETE', `${studio}/collections/authors/eve?force=true`)).status).toBe(200);
    expect(await list(posts, 'invalid=true')).toEqual(['en/broken', 'en/by-eve', 'en/faulty']);
    expect((await app.ask('GET', `${posts}?invalid=true`, { headers: { 'If-None-Match': tag } })).status).toBe(200);
    const one = await app.ask('GET', `${posts}/en/by-eve?include=faults`, { headers: { 'If-None-Match': tagOfOne } });
    expect([one.status, one.body.faults]).toMatchObject([200, [{ field: '/frontmatter/author', code: 'reference' }]]);
    expect((await app.ask('GET', `${studio}/collections/posts`)).status).toBe(200);
    const counted = await graphql('collection(name: "posts") { invalid_count }');
    expect(counted.data.project.studio.collection).toEqual({ invalid_count: 3 });
  });
});

describe('names that new files may not have', () => {
  beforeAll(push);

  it.each([
    ['en/back%5Cslash', 'en/back\\slash', 'Back'],
    ['en/tab%09bed', 'en/tab\tbed', 'Tab'],
  ])('the entry %s can be read, over REST and GraphQL', async (address, slug, title) => {
    expect(await list(posts, 'per_page=100')).toContain(slug);
    expect(await app.ask('GET', `${posts}/${address}?raw=true`)).toMatchObject({ status: 200, body: { slug, title } });
    const shown = await graphql(
      `entry(collection: "posts", slug: ${JSON.stringify(slug)}) { title history(first: 1) { total_count } }`,
    );
    expect(shown).toEqual({ data: { project: { studio: { entry: { title, history: { total_count: 1 } } } } } });
    const path = encodeURIComponent(`${home}/${slug}.md`);
    expect(await app.ask('GET', `${studio}/file?path=${path}`)).toMatchObject({
      status: 200,
      body: { encoding: 'utf-8' },
    });
    expect((await app.ask('GET', `${studio}/commits?path=${path}`)).body).toHaveLength(1);
    expect((await app.ask('GET', `${studio}/commits?collection=posts&slug=${address}`)).body).toHaveLength(1);
  });

  it('media can be read and listed', async () => {
    const path = 'public/odd\\name\t1.svg';
    const media = (await app.ask('GET', `${studio}/media`)).body;
    expect(media).toContainEqual(expect.objectContaining({ path, public_path: '/odd%5Cname%091.svg' }));
    expect((await app.ask('GET', `${studio}/file?raw=true&path=${encodeURIComponent(path)}`)).status).toBe(200);
    expect((await app.ask('GET', `${studio}/media?path=${encodeURIComponent('public/dir\\x')}`)).body).toHaveLength(1);
    expect(
      (await app.ask('GET', `${studio}/filetree?path=${encodeURIComponent('public/dir\\x')}`)).body.tree,
    ).toHaveLength(1);
  });

  it('are refused where nothing has them, and for new files', async () => {
    expectRefusal(await app.ask('GET', `${posts}/en/no%5Cne`), 400, 'invalid_path', /^slug: .*backslash/);
    expectRefusal(await app.ask('GET', `${studio}/file?path=no%09ne`), 400, 'invalid_path', /^path: .*control/);
    expectRefusal(
      await app.ask('GET', `${studio}/media?path=public/no%5Cne`),
      400,
      'invalid_path',
      /^path: .*backslash/,
    );
    expectRefusal(
      await app.ask('POST', posts, { body: { slug: 'en/a\\b', frontmatter: { title: 'T', author: 'ada' } } }),
      400,
      'invalid_path',
      /^slug: .*backslash/,
    );
    expectRefusal(
      await app.ask('PUT', `${posts}/en/back%5Cslash`, { body: { body: 'x' } }),
      400,
      'invalid_path',
      /backslash/,
    );
  });

  it('can be given others, and taken away', async () => {
    const renamed = await app.ask('PUT', `${posts}/en/back%5Cslash`, { body: { slug: 'en/forward' } });
    expect(renamed).toMatchObject({ status: 200, body: { slug: 'en/forward', renamed_from: 'en/back\\slash' } });
    expect((await app.ask('GET', `${posts}/en/forward`)).body.body).toBe('Back\\slash\n');
    expect((await app.ask('DELETE', `${posts}/en/tab%09bed`)).status).toBe(200);
    expect((await app.ask('DELETE', `${studio}/media/public/odd%5Cname%091.svg`)).status).toBe(200);
  });
});

describe('keys that objects of JavaScript have by themselves', () => {
  const put = (slug: string, body: string) => app.ask('PUT', `${notes}/${slug}`, { body });

  it('are sorted and filtered by, picked, and given by GraphQL', async () => {
    expect(await list(notes, 'sort=__proto__.rank')).toEqual(['c', 'a', 'd', 'b']);
    expect(await list(notes, 'filter[__proto__.rank][gt]=2&sort=slug')).toEqual(['b', 'd']);
    expect(await list(notes, 'filter[constructor][eq]=c10')).toEqual(['b']);
    expect(await list(notes, 'filter[toString][exists]=true')).toEqual([]);
    expect(await list(notes, 'filter[__proto__.toString][exists]=true')).toEqual([]);
    expect(await list(notes, 'filter[__proto__][exists]=true')).toHaveLength(4);
    const picked = (await app.ask('GET', `${notes}?fields=__proto__,prototype&per_page=1`)).body[0].frontmatter;
    expect(JSON.stringify(picked)).toBe('{"__proto__":{"rank":2},"prototype":"p"}');
    const shown = await graphql('entry(collection: "notes", slug: "a") { frontmatter }');
    const { frontmatter } = shown.data.project.studio.entry;
    expect(Object.keys(frontmatter)).toEqual(['title', 'when', '__proto__', 'constructor', 'prototype']);
  });

  it('are fields of an inferred schema', async () => {
    const { fields, json_schema } = (await app.ask('GET', `${studio}/schema/notes`)).body;
    const found = fields.find(({ name }: { name: string }) => name === '__proto__');
    expect(found).toMatchObject({ type: 'object', fields: [{ name: 'rank', type: 'integer' }] });
    expect(Object.keys(json_schema.properties)).toEqual(['title', 'when', '__proto__', 'constructor', 'prototype']);
  });

  it('are written, merged, unset and validated like any other', async () => {
    const made = await app.ask('POST', notes, {
      body: '{"slug":"new","frontmatter":{"__proto__":{"__proto__":[{"constructor":1}]},"a":1}}',
    });
    expect(JSON.stringify(made.body.frontmatter)).toBe('{"__proto__":{"__proto__":[{"constructor":1}]},"a":1}');
    const sha = made.body.sha;
    expect((await put('new', '{"frontmatter":{"__proto__":{"x":true}}}')).status).toBe(200);
    const merged = await put(
      'new',
      `{"frontmatter":{"__proto__":{"y":2},"a":null},"sha":"${sha}","on_conflict":"merge"}`,
    );
    expect(JSON.stringify(merged.body.frontmatter)).toBe(
      '{"__proto__":{"__proto__":[{"constructor":1}],"x":true,"y":2}}',
    );
    const clash = await put('new', `{"frontmatter":{"__proto__":{"x":false}},"sha":"${sha}","on_conflict":"merge"}`);
    expectRefusal(clash, 409, 'merge_conflict', /./);
    expect(clash.body.details.conflicts[0].fields).toEqual([
      { field: '/__proto__/x', label: 'Proto › X', current: true, incoming: false },
    ]);
    const settled = await put(
      'new',
      `{"frontmatter":{"__proto__":{"x":false}},"sha":"${sha}","on_conflict":"merge","resolutions":[{"path":"content/notes/new.md","stages":${JSON.stringify(clash.body.details.conflicts[0].stages)},"fields":{"/__proto__/x":{"value":{"__proto__":0}}}}]}`,
    );
    expect(JSON.stringify(settled.body.frontmatter)).toContain('"x":{"__proto__":0}');
    const unset = await put('new', '{"unset":["/__proto__/__proto__","/__proto__/x"]}');
    expect(JSON.stringify(unset.body.frontmatter)).toBe('{"__proto__":{"y":2}}');
    expect((await put('new', '{"unset":["/__proto__"]}')).body.frontmatter).toEqual({});
    const valid = await app.ask('POST', `${studio}/validate`, {
      body: '{"collection":"notes","frontmatter":{"__proto__":{"rank":"x"},"title":"N"}}',
    });
    expect(valid).toMatchObject({ status: 200, body: { valid: true } });
    expect(({} as Record<string, unknown>).rank).toBeUndefined();
  });
});
