import { beforeAll, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

beforeAll(async () => {
  await save(await app.repository(), {
    '_config.yml': 'baseurl: /base\npermalink: pretty\n',
    '_posts/2024-01-02-first.md': '---\ntitle: First\ncategories: [news]\n---\nText\n',
    '_posts/2024-01-03-hidden.md': '---\ntitle: Hidden\npublished: false\n---\nText\n',
    'about.md': '---\ntitle: About\n---\nText\n',
  });
});

const detect = `mutation ($input: DetectRoutePatternsInput) {
  detectRoutePatterns(organization: "acme", project: "site", input: $input) {
    framework { id confidence evidence } root base saved
    patterns { collection url_pattern index_rule trailing_slash confidence source { path } }
    samples { path url } environment_defaults { build_command output_directory }
  }
}`;
const studio = async (fields: string) =>
  (await app.data(`{ project(organization: "acme", project: "site") { studio { ${fields} } } }`)).project.studio;

it('detects patterns, keeps them, and finds the entry an address shows', async () => {
  expect(await studio('route_patterns { collection } entry_at(url: "/about/") { slug }')).toEqual({
    route_patterns: [],
    entry_at: null,
  });
  const { body } = await app.query(detect, { variables: { input: { save: true } } });
  expect(body.data.detectRoutePatterns).toMatchObject({
    framework: { id: 'jekyll' },
    base: '/base',
    saved: true,
    patterns: expect.arrayContaining([
      expect.objectContaining({ collection: 'posts', url_pattern: '/base/{year}/{month}/{day}/{slug}/' }),
    ]),
    environment_defaults: { output_directory: '_site' },
  });
  const { entry_at, ...found } = await studio(`
    route_patterns { collection url_pattern }
    entry_at(url: "https://example.org/base/news/2024/01/02/first/index.html?x=1#y") { collection { name } slug url title }
    draft: entry_at(url: "/base/2024/01/03/hidden/") { slug }
    other: entry_at(url: "/nowhere") { slug }
    page: entry_at(url: "/base/about") { slug url }
  `);
  expect(entry_at).toEqual({
    collection: { name: 'posts' },
    slug: '2024-01-02-first',
    url: '/base/news/2024/01/02/first/',
    title: 'First',
  });
  expect(found).toMatchObject({ draft: null, other: null, page: { slug: 'about', url: '/base/about/' } });
  expect(found.route_patterns).toHaveLength(body.data.detectRoutePatterns.patterns.length);
});

it('gives addresses to entries in lists and searches', async () => {
  const { collection, search } = await studio(`
    collection(name: "posts") { entries { nodes { slug url } } }
    search(q: "first") { nodes { url } }
  `);
  expect(collection.entries.nodes).toEqual([
    { slug: '2024-01-02-first', url: '/base/news/2024/01/02/first/' },
    { slug: '2024-01-03-hidden', url: null },
  ]);
  expect(search.nodes).toEqual([{ url: '/base/news/2024/01/02/first/' }]);
});
