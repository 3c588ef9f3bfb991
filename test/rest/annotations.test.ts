import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ContentIndex } from '../../src/domain/studio/content/content-index.ts';
import { seed, shared, studio } from '../support/app.ts';
import { startDeployingApp } from '../support/deployments.ts';
import { expectRefusal } from '../support/refusal.ts';

const post = `---
title: Late frost
date: 2026-05-01
---

The frost came in the night and took the pear blossom.

## Water

- Every evening

{{< note >}}
`;
const html = (title: string, body: string, head = '') =>
  `<!doctype html><html><head>${head}</head><body><nav><a href="/">Water</a></nav><main>
<h1>${title}</h1><time datetime="2026-05-01">1 May</time>${body}</main></body></html>`;
const body =
  '<p>The frost came in the night and took the pear blossom.</p><h2 id="water">Water</h2><ul><li>Every evening</li></ul>';
const files: Record<string, string> = {
  'hugo.toml': "baseURL = 'https://x.org/docs/'\n",
  'content/posts/frost.md': post,
  'content/posts/bees.md': '---\ntitle: Bees\n---\n\nThe bees have swarmed on the first warm day of the year.\n',
  'public/posts/frost/index.html': html('Late frost', body),
  'public/elsewhere/index.html': html(
    'Late frost',
    body,
    '<link rel="canonical" href="https://x.org/docs/posts/frost/">',
  ),
  'public/copy.html': html('Bees', '<p>The bees have swarmed on the first warm day of the year.</p>'),
  'public/marked.html': html(
    'Late frost',
    '<div data-portico-entry="posts/bees"><p data-portico-field="title">Bees</p></div>',
  ),
  'public/about.html': html('About', '<p>Made by hand, in the year of the late frost.</p>'),
  'public/style.css': 'a{}',
};

const running = shared(startDeployingApp);
let environment: number;
beforeAll(async () => {
  await seed(running.app, files);
  const draft = { name: 'Live', branch: 'main', provider: 'static', output_directory: 'public', auto_deploy: false };
  ({ id: environment } = await running.environment(draft));
  if (!(await running.latest(environment))?.id) {
    await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment } });
    await running.work();
  }
});

const annotations = (url: string, of = `environments/${environment}`) =>
  running.app.ask('GET', `${studio}/${of}/annotations?url=${encodeURIComponent(url)}`);
const placesIn = (answer: { blocks: { kind: string; selector: string; start_line: number; field: string | null }[] }) =>
  answer.blocks.map(({ kind, selector, start_line, field }) => [kind, selector.split(' > ').at(-1), start_line, field]);

describe('GET …/environments/{id}/annotations', () => {
  it('names the entry of a page, and the lines of each of its pieces', async () => {
    const { status, body: found } = await annotations('/docs/posts/frost/');
    expect(status).toBe(200);
    expect(found).toMatchObject({
      url: '/docs/posts/frost/',
      branch: 'main',
      entry: { collection: 'posts', slug: 'frost', path: 'content/posts/frost.md' },
      aligned: 1,
      is_editable: true,
    });
    expect(found.head_sha).toBe(found.commit_sha);
    expect(placesIn(found)).toEqual([
      ['field', 'h1:nth-child(1)', 1, '/title'],
      ['field', 'time:nth-child(2)', 1, '/date'],
      ['paragraph', 'p:nth-child(3)', 6, null],
      ['heading', 'h2:nth-child(4)', 8, null],
      ['list_item', 'li:nth-child(1)', 10, null],
    ]);
    expect(found.blocks.every(({ is_changed }: { is_changed: boolean }) => !is_changed)).toBe(true);
  });

  it('finds the entry by the address that a page gives itself, by its marks, and by its title and text', async () => {
    const canonical = await annotations('/elsewhere');
    expect(canonical.body).toMatchObject({ url: '/elsewhere', entry: { slug: 'frost' }, is_editable: true });
    expect((await annotations('https://live.example.org/copy?x#y')).body).toMatchObject({ entry: { slug: 'bees' } });
    const marked = await annotations('/marked');
    expect(marked.body).toMatchObject({ entry: { slug: 'bees' }, blocks: [{ field: '/title', text: 'bees' }] });
    const unknown = await annotations('/about');
    expect(unknown.body).toMatchObject({ entry: null, aligned: 0, is_editable: false, blocks: [] });
  });

  it('goes through the titles of a collection once for all pages without an entry', async () => {
    await annotations('/about');
    const read = vi.spyOn(ContentIndex.prototype, 'eachListed');
    onTestFinished(() => read.mockRestore());
    expect((await annotations('/about')).body).toMatchObject({ entry: null });
    expect((await annotations('/copy')).body).toMatchObject({ entry: { slug: 'bees' } });
    expect(read).not.toHaveBeenCalled();
  });

  it('carries lines to the head of the branch, and marks what has changed since', async () => {
    const entry = `${studio}/collections/posts/frost`;
    const changed = post.replace('---\n\nThe', '---\n\nAdded before.\n\nThe').replace('## Water', '## Water them');
    expect((await running.app.ask('PUT', entry, { body: { raw: changed } })).status).toBe(200);
    const { body: found } = await annotations('/docs/posts/frost/');
    expect(found.head_sha).not.toBe(found.commit_sha);
    const lines = found.blocks.map((block: Record<string, unknown>) => [
      block.kind,
      block.start_line,
      block.is_changed,
    ]);
    expect(lines).toEqual([
      ['field', 1, false],
      ['field', 1, false],
      ['paragraph', 8, false],
      ['heading', 10, true],
      ['list_item', 12, false],
    ]);
    const retitled = await running.app.ask('PUT', entry, { body: { frontmatter: { title: 'Frost' } } });
    expect(retitled.status).toBe(200);
    expect((await annotations('/docs/posts/frost/')).body.blocks[0]).toMatchObject({
      field: '/title',
      is_changed: true,
    });
    expect((await running.app.ask('DELETE', entry)).status).toBe(200);
    const gone = (await annotations('/docs/posts/frost/')).body.blocks;
    expect(gone[2]).toMatchObject({ start_line: null, end_line: null, is_changed: true });
  });

  it('answers the same for the deployment by its number', async () => {
    const { id } = await running.latest(environment);
    const { status, body: found } = await annotations('/copy', `deployments/${id}`);
    expect([status, found.deployment_id, found.entry.slug]).toEqual([200, id, 'bees']);
  });
});

describe('refuses', () => {
  it('what is no page of the output', async () => {
    expectRefusal(await annotations('/style.css'), 404, 'not_found', /^url: \/style.css is no page of this deployment/);
    expectRefusal(await annotations('/../../secret'), 404, 'not_found', /^url: /);
    expectRefusal(await annotations(''), 400, 'invalid_request', /^url: must not be empty/);
  });

  it('a page whose source is nested too deeply, and goes on with the next', async () => {
    const long = `${'> '.repeat(20_000)}x\n`;
    await seed(running.app, {
      'content/posts/long.md': `---\ntitle: Long\n---\n\n${long}`,
      'public/posts/long/index.html': html('Long', '<p>x</p>'),
      'public/posts/bees/index.html': html('Bees', '<p>The bees have swarmed on the first warm day of the year.</p>'),
    });
    await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment } });
    await running.work();
    expectRefusal(
      await annotations('/docs/posts/long/'),
      413,
      'too_large',
      /^url: the page or its source takes too long/,
    );
    expect((await annotations('/docs/posts/bees/')).body).toMatchObject({ entry: { slug: 'bees' }, aligned: 1 });
  });
});
