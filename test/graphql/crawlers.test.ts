import { describe, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const at = 'organization: "acme", project: "site"';
const ask = (document: string) => app.query(document);
const create = async (input: string) => {
  const { body } = await ask(`mutation { createCrawler(${at}, input: { ${input} }) { id uuid } }`);
  expect(body.errors).toBeUndefined();
  return body.data.createCrawler as { id: number; uuid: string };
};

describe('crawlers', () => {
  it('are made, read, changed and deleted', async () => {
    const { uuid } = await create('domain: "example.com", exclude: ["x"], headers: {A: "1"}, sitemap: [{url: "/s"}]');
    const read = `{ project(${at}) { crawler(crawler: "${uuid}") {
      domain name workers delay exclude headers sitemap { url recursive } assets { network_intercept { timeout } parser { enabled } }
      config verification { host state token } published_snapshot { id } last_run { id } } } }`;
    expect((await ask(read)).body).toEqual({
      data: {
        project: {
          crawler: {
            domain: 'example.com',
            name: 'example.com',
            workers: 2,
            delay: 4,
            exclude: ['x'],
            headers: { A: '1' },
            sitemap: [{ url: '/s', recursive: false }],
            assets: { network_intercept: { timeout: 30 }, parser: { enabled: true } },
            config: expect.stringMatching(/^config:\n/),
            verification: { host: 'example.com', state: 'none', token: null },
            published_snapshot: null,
            last_run: null,
          },
        },
      },
    });
    const changed = await ask(
      `mutation { updateCrawler(${at}, input: { crawler: "${uuid}", domain: "example.com", exclude: null, depth: 2 }) { exclude depth headers } }`,
    );
    expect(changed.body).toEqual({ data: { updateCrawler: { exclude: [], depth: 2, headers: { A: '1' } } } });
    expect(
      (await ask(`mutation { deleteCrawler(${at}, input: { crawler: "${uuid}" }) { crawler { uuid } } }`)).body.data,
    ).toEqual({
      deleteCrawler: { crawler: { uuid } },
    });
    const gone = (await ask(read)).body.errors[0];
    expect(gone).toMatchObject({ message: 'Crawler not found', extensions: { code: 'NOT_FOUND' } });
  });

  it('refuse as REST does, and warn of what has no effect', async () => {
    const refused = await ask(`mutation { createCrawler(${at}, input: { domain: "example.com", workers: 3 }) { id } }`);
    expect(refused.body.errors[0]).toMatchObject({
      message: 'workers: a non-default value requires a verified domain',
      extensions: { code: 'FORBIDDEN', reason: 'verification_required' },
    });
    const bad = await ask(`mutation { createCrawler(${at}, input: { domain: "example.com", exclude: ["("] }) { id } }`);
    expect(bad.body.errors[0].message).toMatch(/^exclude: \[0\] is not a valid pattern: /);
    const { body } = await ask(
      `mutation { createCrawler(${at}, input: { domain: "example.com", browser_mode: true, user_agent: "Me" }) { user_agent } }`,
    );
    expect(body).toEqual({
      data: { createCrawler: { user_agent: 'Me' } },
      extensions: { ignored_fields: ['user_agent'] },
    });
  });

  it('are verified', async () => {
    const { uuid } = await create('domain: "verify.example"');
    const { body } = await ask(
      `mutation { startVerification(${at}, input: { crawler: "${uuid}" }) { state token instructions { dns { name type value } } } }`,
    );
    const { token: proof, instructions, state } = body.data.startVerification;
    expect([state, instructions.dns.value]).toEqual(['pending', `portico-verification=${proof}`]);
  });

  it('come in pages, with their live snapshots in one batch', async () => {
    const em = app.services.orm.em.fork();
    await em.execute('update crawler set deleted_at = now()');
    const made = [];
    for (let index = 0; index < 4; index++) made.push(await create(`domain: "s${index}.example"`));
    for (const { id } of made.slice(0, 3)) {
      const [{ snapshot }] = (await em.execute(
        `insert into snapshot (crawler_id, run_id, state, host, origin, created_at)
         values (?, 1, 'ready', 'h', 'https://h', now()) returning id as snapshot`,
        [id],
      )) as [{ snapshot: number }];
      await em.execute('update crawler set published_snapshot_id = ? where id = ?', [snapshot, id]);
    }
    const page = (first: number, after = 'null') =>
      ask(`{ project(${at}) { crawlers(first: ${first}, after: ${after}) {
        total_count page_info { has_next_page end_cursor } nodes { domain published_snapshot { state } } } } }`);
    const { crawlers } = (await page(3)).body.data.project;
    expect([crawlers.total_count, crawlers.page_info.has_next_page]).toEqual([4, true]);
    expect(crawlers.nodes).toEqual(
      [0, 1, 2].map((index) => ({ domain: `s${index}.example`, published_snapshot: { state: 'ready' } })),
    );
    const rest = (await page(3, `"${crawlers.page_info.end_cursor}"`)).body.data.project.crawlers;
    expect(rest.nodes).toEqual([{ domain: 's3.example', published_snapshot: null }]);
    expect((await page(101)).body.errors[0].message).toBe('first: must be from 1 to 100');
  });
});
