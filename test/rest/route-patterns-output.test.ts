import { beforeAll, describe, expect, it } from 'vitest';
import { outputPages } from '../../src/domain/studio/routes/published-pages.ts';
import { seed, shared, studio } from '../support/app.ts';
import { startDeployingApp } from '../support/deployments.ts';
import { startPreview } from '../support/preview.ts';
import { expectRefusal } from '../support/refusal.ts';

const detect = `${studio}/route-patterns/detect`;
const page = (title: string, more = '') => `---\ntitle: ${title}\n${more}---\n`;
const files: Record<string, string> = {
  'hugo.toml': "baseURL = 'https://x.org/docs/'\n",
  'content/posts/one.md': page('One'),
  'content/posts/zwei & drei.md': page('Zwei'),
  'content/posts/missing.md': page('Missing'),
  'content/posts/draft.md': page('Draft', 'draft: true\n'),
  'public/index.html': 'home',
  'public/404.html': 'lost',
  'public/style.css': 'a{}',
  'public/posts/index.html': 'list',
  'public/posts/one/index.html': 'one',
  'public/posts/zwei-drei/index.html': 'zwei',
};

const running = shared(startDeployingApp);
let environment: number;
beforeAll(async () => {
  await seed(running.app, files);
  const draft = { name: 'Live', branch: 'main', provider: 'static', output_directory: 'public' };
  ({ id: environment } = await running.environment(draft));
});

const check = (body: object) => running.app.ask('POST', detect, { body });

describe('patterns compared with what an environment shows', () => {
  it('lists the pages that are there, those that are missing and those that are no entry', async () => {
    const { id: deployment_id, commit_sha } = await running.latest(environment);
    const { status, body } = await check({ environment_id: environment });
    expect([status, body.base, body.sitemap]).toEqual([200, '/docs', undefined]);
    expect(body.output).toEqual({
      ...{ deployment_id, commit_sha, urls: 4, entries: 3, hits: 2, hit_rate: 0.667 },
      misses: [{ path: 'content/posts/missing.md', url: '/docs/posts/missing/' }],
      ...{ surplus: ['index.html', 'posts/index.html'], surplus_count: 2 },
    });
    expect(body.patterns).toMatchObject([{ collection: 'posts', confidence: 0.667 }]);
    expect(body.samples).toContainEqual({ path: 'content/posts/one.md', url: '/docs/posts/one/', verified: true });
    expect(body.samples).toContainEqual(expect.objectContaining({ path: 'content/posts/missing.md', verified: false }));
  });

  it('is about the commit that was deployed, unless a branch is named', async () => {
    const { id: deployment_id, commit_sha } = await running.latest(environment);
    await seed(running.app, { 'content/posts/new.md': page('New') });
    const { body } = await check({ deployment_id });
    expect(body.output).toMatchObject({ deployment_id, commit_sha, entries: 3, hits: 2 });
    const { body: now } = await check({ deployment_id, branch: 'main' });
    expect(now.output).toMatchObject({ deployment_id, commit_sha, entries: 4, hits: 2, hit_rate: 0.5 });
  });

  it('lists the first hundred of what is missing and of what is more, and counts all', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 101 }, (_, at) => [
        [`content/notes/${at}.md`, page('Note')],
        [`public/tags/${at}.html`, 'tag'],
      ]).flat(),
    );
    await seed(running.app, many);
    await running.app.services.studio.moves.settled();
    await running.work();
    const { body } = await check({ environment_id: environment });
    const { entries, hits, misses, surplus, surplus_count } = body.output;
    expect([entries - hits, misses.length, surplus.length, surplus_count]).toEqual([103, 100, 100, 103]);
  });
});

it('the preview of a site below a path shows its pages there', async () => {
  const preview = await startPreview(running.app);
  try {
    const shown = await running.app.ask('PATCH', `${studio}/environments/${environment}`, {
      body: { visibility: 'public' },
    });
    const { hostname } = new URL(shown.body.url);
    const [label = ''] = hostname.split('.');
    const get = (path: string) => preview.ask(label, path);
    expect(await get('/docs/posts/one/')).toMatchObject({ status: 200, text: 'one' });
    expect(await get('/docs/style.css')).toMatchObject({ status: 200, text: 'a{}' });
    expect(await get('/docs/nowhere/')).toMatchObject({ status: 404, text: 'lost' });
    expect(await get('/')).toMatchObject({ status: 308, headers: { location: '/docs/' } });
    const { id } = await running.latest(environment);
    const { body } = await running.app.ask(
      'GET',
      `${studio}/environments/${environment}/annotations?url=/docs/posts/one/`,
    );
    expect(body).toMatchObject({ deployment_id: id, entry: { slug: 'one' } });
  } finally {
    await preview.stop();
  }
});

describe('refuses', () => {
  it('more than one thing to compare with', async () => {
    const both = await check({ environment_id: environment, deployment_id: 1 });
    expectRefusal(both, 400, 'invalid_request', /^deployment_id: only one of/);
    const sitemap = await check({ environment_id: environment, sitemap_url: 'https://x.org/sitemap.xml' });
    expectRefusal(sitemap, 400, 'invalid_request', /^environment_id: only one of/);
  });

  it('what is not there, and what shows nothing', async () => {
    expectRefusal(await check({ environment_id: 99 }), 404, 'not_found', 'Environment 99 not found');
    expectRefusal(await check({ deployment_id: 99 }), 404, 'not_found', 'Deployment 99 not found');
    expectRefusal(await check({ environment_id: 0 }), 400, 'invalid_request', /^environment_id/);
    const draft = { name: 'Empty', branch: 'main', provider: 'static', auto_deploy: false };
    const { id } = await running.environment(draft);
    expectRefusal(await check({ environment_id: id }), 422, 'validation_failed', /^environment_id: .*shows nothing/);
  });

  it('outputs that are not kept any more', async () => {
    const { id } = await running.latest(environment);
    const em = running.app.services.orm.em.fork();
    await em.execute('update deployment set manifest_sha256 = null where id = ?', [id]);
    expectRefusal(await check({ deployment_id: id }), 422, 'validation_failed', /^deployment_id: .*sitemap_url/);
    await em.execute('update deployment set manifest_sha256 = ? where id = ?', ['0'.repeat(64), id]);
    expectRefusal(await check({ deployment_id: id }), 404, 'not_found', /not kept any more/);
  });
});

it('finds pages at every path they answer at, the exact file first', async () => {
  const { pages, addresses } = await outputPages(
    ['a.html', 'a', 'b/index.html', 'index.html', '404.html', 'c.png'],
    '/x',
  );
  expect(pages).toEqual(['a.html', 'b/index.html', 'index.html']);
  const at = (path: string) => addresses.get(path);
  expect(['/x/a', '/x/a.html', '/x/b', '/x/b/', '/x/b/index.html', '/x/', '/x/c.png', '/a'].map(at)).toEqual([
    ...['a', 'a.html', 'b/index.html', 'b/index.html', 'b/index.html', 'index.html', 'c.png', undefined],
  ]);
});
