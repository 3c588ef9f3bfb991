import { describe, expect, it } from 'vitest';
import { routesWith } from '../../../../src/domain/studio/routes/entry-routes.ts';
import { readRoutes } from '../../../../src/domain/studio/routes/routes-cache.ts';

const packageOf = (...names: string[]) =>
  JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])) });

/** What the texts of a site name a file and a page by. */
async function linksOf(files: Record<string, string>) {
  const paths = Object.keys(files).map((path) => ({ path, oid: path }));
  const { linkTo } = routesWith([], await readRoutes({ paths, read: async (path) => files[path] ?? null }));
  return [linkTo('files', '/a%20base/img/x.png'), linkTo('pages', '/a%20base/x/')];
}

const whole = ['/a%20base/img/x.png', '/a%20base/x/'];
const below = ['/img/x.png', '/x/'];
const page = { 'content/x.md': '', 'docs/x.md': '', 'source/_posts/x.md': '' };

describe('a file and a page are named in texts', () => {
  const eleventy = (code: string) => ({ 'package.json': packageOf('@11ty/eleventy'), 'eleventy.config.js': code });
  const hexo = (renderer: string, more = '') => ({
    'package.json': packageOf('hexo', renderer),
    '_config.yml': `root: /a base/\n${more}`,
  });
  const hexoImages = ['/img/x.png', '/a%20base/x/'];
  const astro = { 'package.json': packageOf('astro'), 'astro.config.mjs': 'export default { base: "/a base" };' };
  it.each<[string, Record<string, string>, (string | undefined)[]]>([
    ['by their addresses in Astro', astro, whole],
    ['by their addresses in Hugo', { 'hugo.toml': 'baseURL = "https://example.org/a base/"' }, whole],
    ['by their addresses in Jekyll', { '_config.yml': 'baseurl: /a base', '_posts/2020-01-01-x.md': '' }, whole],
    ['by their addresses in Eleventy', eleventy('export const config = { pathPrefix: "/a base/" };'), whole],
    [
      'without the base in Eleventy where its plug-in puts it before them',
      eleventy(
        'import { HtmlBasePlugin } from "@11ty/eleventy"; export default (c) => { c.addPlugin(HtmlBasePlugin); return { pathPrefix: "/a base/" }; };',
      ),
      below,
    ],
    [
      'without the base in Eleventy where its plug-in is required',
      eleventy(
        'const { EleventyHtmlBasePlugin } = require("@11ty/eleventy"); module.exports = (c) => { c.addPlugin(EleventyHtmlBasePlugin); return { pathPrefix: "/a base/" }; };',
      ),
      below,
    ],
    [
      'without the base in VitePress',
      { 'package.json': packageOf('vitepress'), '.vitepress/config.mts': 'export default { base: "/a base/" };' },
      below,
    ],
    [
      'without the base in Docusaurus',
      {
        'package.json': packageOf('@docusaurus/core'),
        'docusaurus.config.js': 'export default { baseUrl: "/a base/", presets: [["classic", {}]] };',
      },
      below,
    ],
    [
      'without the base in Nuxt Content',
      {
        'package.json': packageOf('nuxt', '@nuxt/content'),
        'nuxt.config.ts': 'export default defineNuxtConfig({ app: { baseURL: "/a base/" } });',
      },
      below,
    ],
    [
      'by the paths to them in MkDocs',
      { 'mkdocs.yml': 'site_url: https://example.org/a base/\n' },
      [undefined, undefined],
    ],
    ['without the base in Hexo, if they are images', hexo('hexo-renderer-marked'), hexoImages],
    ['by their addresses in Hexo with another renderer', hexo('hexo-renderer-markdown-it'), whole],
    [
      'by their addresses in Hexo where its renderer is set so',
      hexo('hexo-renderer-marked', 'marked:\n  prependRoot: false\n'),
      whole,
    ],
    ['by their addresses in Hexo with relative links', hexo('hexo-renderer-marked', 'relative_link: true\n'), whole],
    ['by their addresses where there is no framework', {}, whole],
  ])('%s', async (_how, files, links) => {
    expect(await linksOf({ ...page, ...files })).toEqual(links);
  });

  it('whole where an address lies outside of the base', async () => {
    const files = {
      'package.json': packageOf('vitepress'),
      '.vitepress/config.mts': 'export default { base: "/a/" };',
    };
    const { linkTo } = routesWith(
      [],
      await readRoutes({
        paths: Object.keys(files).map((path) => ({ path, oid: path })),
        read: async (path) => files[path as keyof typeof files] ?? null,
      }),
    );
    expect(linkTo('files', '/ab/x.png')).toBe('/ab/x.png');
  });
});
