import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { ownBranch } from '../support/change-actions.ts';
import { commitTo } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const at = (slug: string) => `src/content/posts/${slug}.md`;
const post = (fields: string, body = 'Text.\n') => `---\n${fields}\n---\n\n${body}`;

const beta = post('title: Beta\nauthor: ada');

const app = shared(startTestApp);
beforeAll(async () => {
  await seed(app, {
    ...siteFiles,
    [at('en/beta')]: beta,
    [at('en/links')]: post('title: Links\nauthor: bob', '[Beta](/en/beta/), ![Logo](/logo.svg)\n'),
    [at('en/wrong')]: post('title: Wrong\nauthor: nobody\nrating: 9'),
  });
  const pattern = { collection: 'posts', url_pattern: '/{slug}/', source: null };
  const routes = { route_patterns: [{ ...pattern, locale: undefined }] };
  const { status, body } = await app.ask('PATCH', `${studio}/repository`, { body: routes });
  expect({ status, body }).toMatchObject({ status: 200 });
});

let head: string;
beforeEach(async () => {
  head = await ownBranch(app);
});
const commit = (files: Record<string, string | null>) => commitTo(app, head, files);
const check = async (more = '') =>
  (await app.ask('GET', `${studio}/compare/checks?base=main&head=${head}${more}`)).body;

describe('GET /compare/checks', () => {
  it('finds nothing where nothing new is wrong', async () => {
    await commit({
      [at('en/fine')]: post('title: Fine\nauthor: ada'),
      [at('en/wrong')]: post('title: Still\nauthor: nobody\nrating: 9'),
    });
    expect(await check()).toMatchObject({ errors: 0, warnings: 0, checks: [], truncated: false });
  });

  it('finds invalid fields, relations to nothing and frontmatter that cannot be read, where the base has no such fault', async () => {
    await commit({
      [at('en/wrong')]: post('title: Wrong\nauthor: nobody\nrating: 9\ntags: none'),
      [at('en/new')]: post('title: New\nauthor: eve'),
      [at('en/broken')]: post('title: "Broken\nauthor: ada'),
    });
    const { checks, errors } = await check();
    expect(errors).toBe(3);
    expect(checks).toEqual([
      expect.objectContaining({
        level: 'error',
        entry: { collection: 'posts', slug: 'en/broken', path: at('en/broken'), title: 'Broken' },
        field: '/frontmatter',
        label: null,
      }),
      {
        code: 'reference',
        level: 'error',
        entry: { collection: 'posts', slug: 'en/new', path: at('en/new'), title: expect.any(String) },
        field: '/frontmatter/author',
        label: 'Author',
        message: '"eve" is no entry of "authors"',
      },
      {
        code: 'type',
        level: 'error',
        entry: { collection: 'posts', slug: 'en/wrong', path: at('en/wrong'), title: expect.any(String) },
        field: '/frontmatter/tags',
        label: 'Tags',
        message: 'must be a list',
      },
    ]);
  });

  it('names values of up to 1,000 characters whole, and no more of others', async () => {
    const [whole, long] = ['e'.repeat(1_000), 'e'.repeat(1_001)];
    await commit({
      [at('en/whole')]: post(`title: A\nauthor: ${whole}`),
      [at('en/long')]: post(`title: B\nauthor: ${long}`),
    });
    const { checks } = await check();
    const messages = checks.map(({ message }: { message: string }) => message);
    expect(messages).toEqual([`"${whole}…" is no entry of "authors"`, `"${whole}" is no entry of "authors"`]);
  });

  it('takes room for what it shows', async () => {
    await commit({ [at('en/new')]: post(`title: New\nauthor: ${'e'.repeat(900)}`) });
    const take = vi.spyOn(answerMemory, 'take');
    await check();
    expect(take.mock.calls[0]?.[1]).toBeGreaterThan(900);
    take.mockRestore();
  });

  it('finds what names an entry, a page or a file that is gone, in entries that have not changed', async () => {
    await commit({ 'src/content/authors/bob.yaml': null, [at('en/beta')]: null, 'public/logo.svg': null });
    const { checks } = await check();
    const links = { collection: 'posts', slug: 'en/links', path: at('en/links'), title: expect.any(String) };
    expect(checks).toEqual([
      {
        code: 'reference',
        level: 'error',
        entry: links,
        field: '/frontmatter/author',
        label: 'Author',
        message: '"bob" is an entry that is gone',
      },
      {
        code: 'link',
        level: 'warning',
        entry: links,
        field: null,
        label: null,
        message: expect.stringContaining('/en/beta/'),
      },
      {
        code: 'link',
        level: 'warning',
        entry: links,
        field: null,
        label: null,
        message: expect.stringContaining('public/logo.svg'),
      },
    ]);
  });

  it('finds links to the former address of an entry that was renamed, and none once they are mended', async () => {
    await commit({ [at('en/beta')]: null, [at('en/second')]: beta });
    expect((await check()).checks).toMatchObject([{ code: 'link', entry: { slug: 'en/links' } }]);
    await commit({ [at('en/links')]: post('title: Links\nauthor: bob', '[Beta](/en/second/)\n') });
    expect((await check()).checks).toEqual([]);
  });

  it('takes the default branch for the base, and refuses what is not there', async () => {
    const { body } = await app.ask('GET', `${studio}/compare/checks?head=${head}`);
    expect(body.base_commit).toBe(body.head_commit);
    expectRefusal(await app.ask('GET', `${studio}/compare/checks?head=nowhere`), 404, 'not_found', /^head: /);
    expectRefusal(await app.ask('GET', `${studio}/compare/checks`), 400, 'invalid_request', 'head: is required');
  });
});

describe('publish_checks: block', () => {
  const set = (publish_checks: string) => app.ask('PATCH', `${studio}/repository`, { body: { publish_checks } });
  const merge = (body: object) => app.ask('POST', `${studio}/merge`, { body });

  it('keeps errors from the default branch, by a merge and by a pull request, and lets warnings pass', async () => {
    expect((await set('block')).body.settings.publish_checks).toBe('block');
    await commit({ [at('en/blocked')]: post('title: Blocked\nauthor: eve') });
    const refused = await merge({ head });
    expectRefusal(refused, 409, 'checks_failed', /^1 error keeps this from being published: .*en\/blocked\.md: "eve"/);
    expect(refused.body.details.checks).toMatchObject([{ code: 'reference', field: '/frontmatter/author' }]);
    const { body: pull } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'Blocked', head } });
    const pulled = await app.ask('POST', `${studio}/pulls/${pull.number}/merge`, { body: {} });
    expectRefusal(pulled, 409, 'checks_failed', /./);
    expect((await app.ask('GET', `${studio}/pulls/${pull.number}`)).body.state).toBe('open');

    await commit({ [at('en/blocked')]: null, 'public/logo.svg': null });
    expect(await check()).toMatchObject({ errors: 0, warnings: 1 });
    expect((await merge({ head })).status).toBe(201);
  });

  it('blocks neither merges into other branches, nor any where it only warns', async () => {
    await set('block');
    const other = head;
    head = await ownBranch(app);
    await commit({ [at('en/warned')]: post('title: Warned\nauthor: eve') });
    expect((await merge({ head, base: other })).status).toBe(201);
    expectRefusal(await merge({ head }), 409, 'checks_failed', /./);
    await set('warn');
    expect((await merge({ head })).status).toBe(201);
  });
});
