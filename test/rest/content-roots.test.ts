import { expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';

const app = shared(startTestApp);

const roots = async () => (await app.ask('GET', `${studio}/content-roots`)).body;

it('lists nothing where no framework is configured', async () => {
  expect(await roots()).toEqual([]);
  await seed(app, { 'README.md': '', 'posts/a.md': '' });
  expect(await roots()).toEqual([]);
});

it('lists the sites of a monorepo with content of their own, of which a project can name one', async () => {
  await seed(app, {
    'docs/docusaurus.config.js': 'export default { presets: [["classic", {}]] };',
    'docs/docs/a.md': '',
    'docs/docs/b.mdx': '',
    'docs/node_modules/x/readme.md': '',
    'sites/blog/hugo.toml': 'title = "x"',
    'sites/blog/content/posts/a.md': '---\ntitle: A\n---\n',
    'sites/blog/README.md': '',
    'sites/empty/astro.config.mjs': '',
    'packages/x/fixtures/site/hugo.toml': '',
    'packages/x/fixtures/site/content/a.md': '',
  });
  const docs = { path: 'docs', framework: 'docusaurus', files: 2, is_used: true };
  const blog = { path: 'sites/blog', framework: 'hugo', files: 1, is_used: false };
  expect(await roots()).toEqual([docs, blog]);
  const names = async () =>
    (await app.ask('GET', `${studio}/collections`)).body.map(({ name }: { name: string }) => name);
  expect(await names()).toContain('docs');
  await app.ask('PATCH', `${studio}/repository`, { body: { content_root: 'sites/blog' } });
  expect(await roots()).toEqual([
    { ...docs, is_used: false },
    { ...blog, is_used: true },
  ]);
  expect(await names()).toEqual(['posts']);
});
