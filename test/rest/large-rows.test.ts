import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { makeCrawler, makeSnapshot } from '../support/crawlers/snapshots.ts';
import { setRef } from '../support/git-history.ts';
import { git } from '../support/git-store.ts';
import { expectRefusal } from '../support/refusal.ts';
import { requestedDuring } from '../support/statements.ts';

const app = shared(startTestApp);
const project = `${acme}/projects/site`;
const at = 'organization: "acme", project: "site"';
const execute = (sql: string, values: unknown[] = []) => app.services.orm.em.fork().execute(sql, values);
afterEach(() => vi.restoreAllMocks());

/** What is taken for answers while there is room, or where there is none. */
const room = (isThere = true) =>
  vi.spyOn(answerMemory, 'take').mockImplementation(async () => {
    if (!isThere) throw new DomainError('unavailable', 'no room');
  });
const taken = (take: ReturnType<typeof room>) => take.mock.calls.map(([, bytes]) => bytes);

/** How often a column of a table is read while something is requested: by its name, or with all others of the row. */
const readsOf = (column: string, statements: readonly string[]) => {
  const [table, name] = column.split('.');
  const isRead = (text: string) => {
    const [selected = ''] = text.split(' from ');
    return text.includes(` from "${table}" `) && (selected.includes(`"${name}"`) || selected.includes('.*'));
  };
  return statements.filter(isRead).length;
};

/** The same for fields of the project over GraphQL. */
const inGraphql = async (fields: string, column: string) => {
  const request = async () => {
    const { body } = await app.ask('POST', '/graphql', { body: { query: `{ project(${at}) { ${fields} } }` } });
    expect(body.errors).toBeUndefined();
  };
  return readsOf(column, await requestedDuring(request));
};

describe('settings of crawlers', () => {
  const count = 2;
  const list = `${project}/crawlers`;
  let crawler: { id: number; uuid: string };
  /** Gives each crawler so many addresses of two thousand characters. */
  const hold = (urls: number) =>
    execute(
      `update crawler set settings = (settings::jsonb || jsonb_build_object('urls', (
         select jsonb_agg('/' || repeat('x', 2000)) from generate_series(1, ?))))::json`,
      [urls],
    );
  beforeAll(async () => {
    for (let made = 0; made < count; made += 1) crawler = await makeCrawler(app);
    await hold(500);
  });

  it('take room for both their forms before they are read', async () => {
    const take = room();
    const { status, body } = await app.ask('GET', list);
    expect([status, body.length]).toEqual([200, count]);
    const [bytes = 0] = taken(take);
    expect(bytes).toBeGreaterThan(count * 2 * 500 * 2000);
    expect((await app.ask('GET', `${list}/${crawler.uuid}`)).status).toBe(200);
    expect(taken(take)).toEqual([bytes, bytes / count]);
  });

  it('are not read while there is no room', async () => {
    room(false);
    const statements = await requestedDuring(async () => {
      expectRefusal(await app.ask('GET', list), 503, 'unavailable', /no room/);
      expectRefusal(await app.ask('GET', `${list}/${crawler.uuid}`), 503, 'unavailable', /no room/);
    });
    expect(readsOf('crawler.settings', statements)).toBe(0);
  });

  it('are read only where GraphQL selects one of them', async () => {
    const take = room();
    const parts = 'id name verification { state } last_run { id } schedules { nodes { id } } published_snapshot { id }';
    expect(await inGraphql(`crawlers { nodes { ${parts} } }`, 'crawler.settings')).toBe(0);
    const one = `crawler(crawler: "${crawler.uuid}")`;
    expect(await inGraphql(`${one} { ${parts} snapshots { nodes { crawler { name } } } }`, 'crawler.settings')).toBe(0);
    const lists = 'runs { total_count } snapshots { total_count } deliveries { total_count }';
    expect(await inGraphql(`${one} { ${lists} }`, 'crawler.settings')).toBe(0);
    expect(taken(take)).toEqual([]);
    expect(await inGraphql('crawlers { nodes { name urls_list } }', 'crawler.settings')).toBe(1);
    expect(await inGraphql(`${one} { workers }`, 'crawler.settings')).toBe(1);
    expect(taken(take).length).toBeGreaterThan(0);
  });

  it('are refused on a page that would be too large, before they are read', async () => {
    await hold(9000);
    const statements = await requestedDuring(async () =>
      expectRefusal(await app.ask('GET', list), 413, 'too_large', /at most 67108864 bytes; choose a shorter page/),
    );
    expect(readsOf('crawler.settings', statements)).toBe(0);
    const { status, body } = await app.ask('GET', `${list}?per_page=1`);
    expect([status, body[0].urls.length]).toEqual([200, 9000]);
  });
});

describe('what a run has frozen', () => {
  it('is read by no list of runs, nor with a crawler or a run', async () => {
    const { id, uuid } = await makeCrawler(app);
    await makeSnapshot(app, id, { '/': 'home' });
    await execute(
      `update crawler_run set status = 'running', rate = 1, counts = (counts::jsonb || '{"pending": 40}')::json`,
    );
    const crawler = `${project}/crawlers/${uuid}`;
    const statements = await requestedDuring(async () => {
      const { body } = await app.ask('GET', `${crawler}/runs`);
      expect(body).toMatchObject([{ last_status: 'running', eta_seconds: 40 }]);
      expect((await app.ask('GET', `${crawler}/runs/${body[0].id}`)).body).toEqual(body[0]);
      expect((await app.ask('GET', crawler)).body.last_run).toEqual(body[0]);
    });
    for (const column of ['settings', 'urls', 'secrets']) expect(readsOf(`crawler_run.${column}`, statements)).toBe(0);
    await execute(`update crawler_run set settings = (settings::jsonb || '{"max_hits": 7}')::json`);
    expect((await app.ask('GET', `${crawler}/runs`)).body).toMatchObject([{ eta_seconds: 7 }]);
  });
});

describe('variables of environments', () => {
  const count = 3;
  const size = 400_000;
  const deployments = `${studio}/deployments`;
  const environments = `${studio}/environments`;
  let id: number;
  beforeAll(async () => {
    await seed(app, { 'index.html': 'home' });
    for (let made = 0; made < count; made += 1) {
      const draft = { name: `Site ${made}`, branch: 'main', provider: 'static', deploy: true };
      const { status, body } = await app.ask('POST', environments, { body: draft });
      expect(status).toBe(201);
      id = body.id;
    }
    const variable = `jsonb_build_object('name', 'LONG', 'value', repeat('x', ${size}), 'secret', false,
      'available_in_install', false, 'available_in_drafts', false)`;
    await execute(`update environment set variables = jsonb_build_array(${variable})::json`);
    await execute(
      `update deployment set settings = (settings::jsonb || jsonb_build_object('variables', jsonb_build_array(${variable})))::json`,
    );
  });

  it('are read by nothing that shows deployments', async () => {
    const statements = await requestedDuring(async () => {
      const { body } = await app.ask('GET', deployments);
      expect(body.map(({ environment }: { environment: object }) => environment)).toContainEqual({
        id,
        name: 'Site 2',
      });
      expect((await app.ask('GET', `${deployments}/${body[0].id}`)).status).toBe(200);
      expect((await app.ask('GET', `${deployments}/latest`)).status).toBe(200);
      const list = 'studio { deployments { nodes { id environment { name } } } }';
      await app.ask('POST', '/graphql', { body: { query: `{ project(${at}) { ${list} } }` } });
    });
    expect(readsOf('deployment.settings', statements)).toBe(0);
    expect(readsOf('environment.variables', statements)).toBe(0);
  });

  it('take room before they are read', async () => {
    const take = room();
    const { status, body } = await app.ask('GET', environments);
    expect([status, body.length, body[0].variables[0].value.length]).toEqual([200, count, size]);
    const [bytes = 0] = taken(take);
    expect(bytes).toBeGreaterThan(count * size);
    expect((await app.ask('GET', `${environments}/${id}`)).body).toEqual(body[count - 1]);
    expect(taken(take)).toEqual([bytes, bytes / count]);
    room(false);
    const statements = await requestedDuring(async () =>
      expectRefusal(await app.ask('GET', environments), 503, 'unavailable', /no room/),
    );
    expect(readsOf('environment.variables', statements)).toBe(0);
    expect(readsOf('deployment.settings', statements)).toBe(0);
  });

  it('are read only where GraphQL selects them', async () => {
    const take = room();
    const parts = 'name branch { name } latest_deployment { id title } published { id }';
    for (const fields of [
      `environments { nodes { ${parts} } }`,
      `environment(id: ${id}) { ${parts} deployments { nodes { environment { name } } } }`,
      `branch(name: "main") { environments { nodes { ${parts} } } }`,
    ])
      expect(await inGraphql(`studio { ${fields} }`, 'environment.variables')).toBe(0);
    expect(Math.max(0, ...taken(take))).toBeLessThan(size);
    for (const fields of [
      'environments { nodes { variables { value } } }',
      `environment(id: ${id}) { variables { value } }`,
      'deployments { nodes { environment { variables { value } } } }',
    ])
      expect(await inGraphql(`studio { ${fields} }`, 'environment.variables')).toBe(1);
    expect(taken(take).length).toBeGreaterThan(0);
  });
});

describe('jobs of deployments', () => {
  it('take room before they are read', async () => {
    const step = `jsonb_build_object('number', 1, 'name', repeat('x', 300000), 'status', 'queued',
      'conclusion', null, 'started_at', null, 'completed_at', null, 'exit_code', null)`;
    await execute(`insert into deployment_job (deployment_id, name, position, status, steps, log_size)
      select id, 'long', 99, 'queued', jsonb_build_array(${step})::json, 0 from deployment`);
    const take = room();
    expect((await app.ask('GET', `${studio}/deployments`)).status).toBe(200);
    expect(Math.max(...taken(take))).toBeGreaterThan(3 * 300_000);
    room(false);
    const statements = await requestedDuring(async () =>
      expectRefusal(await app.ask('GET', `${studio}/deployments`), 503, 'unavailable', /no room/),
    );
    expect(readsOf('deployment_job.steps', statements)).toBe(0);
  });

  it('are read only where GraphQL selects them', async () => {
    expect(
      await inGraphql('studio { deployments { nodes { id status environment { name } } } }', 'deployment_job.steps'),
    ).toBe(0);
    expect(await inGraphql('studio { deployments { nodes { jobs { name } } } }', 'deployment_job.steps')).toBe(1);
  });
});

describe('broken links', () => {
  it('take room for every place that shows a URL, before one is read', async () => {
    const { id, uuid } = await makeCrawler(app);
    await makeSnapshot(app, id, { '/': 'home' });
    const [{ id: run } = { id: 0 }] = await execute('select id from crawler_run where crawler_id = ?', [id]);
    const [pages, broken, length] = [20, 10, 1900];
    await execute(
      `insert into crawl_url (run_id, url_hash, url, host, kind, depth, priority, state, http_status, sha256)
       select ?, sha256(convert_to(url, 'UTF8')), url, 'www.example.com', 'page', 1, 0, 'done', status, case status when 200 then '' end
       from (select rpad('https://www.example.com/' || n || '/', ?, 'x') as url, case when n <= ? then 200 else 404 end as status
         from generate_series(1, ?) as n) as made`,
      [run, length, pages, pages + broken],
    );
    await execute(
      `insert into crawl_link (run_id, from_id, to_keys)
       select run_id, id, (select array_agg(('x' || encode(substring(url_hash for 8), 'hex'))::bit(64)::bigint) from crawl_url
         where run_id = page.run_id and http_status = 404)
       from crawl_url as page where run_id = ? and http_status = 200 and depth = 1`,
      [run],
    );
    const path = `${project}/crawlers/${uuid}/runs/${run}/broken-links`;
    const take = room();
    const { body } = await app.ask('GET', path);
    expect(body.map(({ linked_from }: { linked_from: object[] }) => linked_from.length)).toEqual(
      Array(broken).fill(pages),
    );
    expect(taken(take)).toEqual([2 * length * broken * pages]);
    room(false);
    const statements = await requestedDuring(async () =>
      expectRefusal(await app.ask('GET', path), 503, 'unavailable', /no room/),
    );
    expect(statements.filter((text) => text.startsWith('select id, url from crawl_url'))).toEqual([]);
    expect(statements.filter((text) => text.includes('octet_length(url)'))).toHaveLength(1);
  });
});

it('lists versions of a workflow without reading what is in them', async () => {
  const definition = { portico: 'workflow/1', steps: [{ id: 'a', type: 'fail' }] };
  const { status, body } = await app.ask('POST', `${project}/workflows`, { body: { name: 'Plain', definition } });
  expect(status).toBe(201);
  const versions = `${project}/workflows/${body.id}/versions`;
  const statements = await requestedDuring(async () => {
    const list = await app.ask('GET', versions);
    expect(list.body).toMatchObject([{ number: 1, published: true, permissions: [] }]);
  });
  for (const column of ['source', 'definition']) expect(readsOf(`workflow_version.${column}`, statements)).toBe(0);
  expect((await app.ask('GET', `${versions}/1`)).body).toMatchObject({ number: 1, published: true, definition });
});

describe('commits', () => {
  it('take room by what was read of them, as a page and by their ids', async () => {
    const root = await seed(app, { 'a.txt': 'a' });
    const { gitDir } = (await app.repository()) as unknown as { gitDir: string };
    const person = 'Stock <stock@example.org> 1700000000 +0000';
    const tree = git(gitDir, ['rev-parse', `${root}^{tree}`]);
    const text = `tree ${tree}\n${`parent ${root}\n`.repeat(5_000)}author ${person}\ncommitter ${person}\n\nmany\n`;
    setRef(gitDir, 'refs/heads/many', git(gitDir, ['hash-object', '-t', 'commit', '-w', '--stdin'], text));
    const take = room();
    const { body } = await app.ask('GET', `${studio}/commits?branch=many&per_page=1`);
    expect(body[0].parents).toHaveLength(5_000);
    const shown = JSON.stringify(body).length;
    expect(Math.max(...taken(take))).toBeGreaterThanOrEqual(shown);
    take.mockClear();
    const query = `{ project(${at}) { studio { branch(name: "many") { commit { sha } } } } }`;
    expect((await app.ask('POST', '/graphql', { body: { query } })).body.errors).toBeUndefined();
    expect(Math.max(...taken(take))).toBeGreaterThanOrEqual(shown);
  });
});

describe('pages of entries', () => {
  // Of two bytes a letter.
  const long = 'ж'.repeat(30_000);
  const listed = `${studio}/collections/posts?per_page=100`;
  beforeAll(() =>
    seed(
      app,
      Object.fromEntries(
        Array.from({ length: 60 }, (_, at) => [`content/posts/p${at}.md`, `---\nlong: ${long}\n---\n`]),
      ),
    ),
  );

  it('take room once for all that they show, and hold nothing until there is some', async () => {
    const take = room();
    const { status, body } = await app.ask('GET', listed);
    expect([status, body.length]).toEqual([200, 60]);
    for (const { frontmatter } of body) expect(frontmatter).toEqual({ long });
    const sizes = taken(take).filter((bytes) => bytes > 0);
    expect(sizes).toEqual([expect.any(Number)]);
    expect(sizes[0]).toBeGreaterThan(60 * Buffer.byteLength(long));
  });

  it('take room for bodies at the same time', async () => {
    const body = 'b'.repeat(10_000);
    await seed(app, { 'content/notes/a.md': `---\nlong: ${long}\n---\n${body}` });
    const take = room();
    const { body: page } = await app.ask('GET', `${studio}/collections/notes?include=body`);
    expect(page[0].body).toBe(body);
    const sizes = taken(take).filter((bytes) => bytes > 0);
    expect(sizes).toEqual([expect.any(Number)]);
    expect(sizes[0]).toBeGreaterThan(2 * Buffer.byteLength(long) + body.length);
  });

  it('are not made while there is no room', async () => {
    room(false);
    expectRefusal(await app.ask('GET', listed), 503, 'unavailable', /no room/);
  });
});
