const page = (more = 'title: A page') => `---\n${more}\n---\nText\n`;

/** Directories, data beside pages, permalinks with templates, dates in names, and files that are left out. */
export const eleventySite: Record<string, string> = {
  'eleventy.config.js': `
export default function (eleventyConfig) {
  eleventyConfig.setInputDirectory('src');
  eleventyConfig.addPassthroughCopy('src/assets');
  eleventyConfig.ignores.add('src/ignored/**');
  eleventyConfig.addPreprocessor('drafts', '*', (data) => {
    if (data.draft) return false;
  });
  return { pathPrefix: '/base/', dir: { output: 'www' } };
}
`,
  '.eleventyignore': 'src/left-out.md\n',
  'src/_includes/base.njk': '{{ content | safe }}',
  'src/_data/site.json': '{"name":"Sample"}',
  'src/index.md': page(),
  'src/about.md': page(),
  'src/plain.html': page(),
  'src/template.njk': page('layout: base.njk'),
  'src/liquid.liquid': page(),
  'src/README.md': 'No frontmatter\n',
  'src/left-out.md': page(),
  'src/ignored/a.md': page(),
  'src/404.md': page('permalink: 404.html'),
  'src/feed.njk': page('permalink: /feed.xml'),
  'src/hidden.md': page('permalink: false'),
  'src/docs/index.md': page(),
  'src/docs/docs.md': page('permalink: /docs/same-name/'),
  'src/guide/guide.md': page(),
  'src/guide/Getting Started.md': page(),
  'src/guide/deep/er/page.md': page(),
  'src/posts/posts.json': '{"permalink":"/blog/{{ page.fileSlug }}/","tags":"posts"}',
  'src/posts/2020-01-02-first.md': page(),
  'src/posts/second.md': page('title: Second\ndate: 2021-05-06'),
  'src/posts/own.md': page('permalink: "/own/{{ title | slugify }}/index.html"\ntitle: My Own, Título!'),
  'src/posts/draft.md': page('draft: true'),
  'src/notes/notes.11tydata.js': 'export default { permalink: "/n/{{ page.filePathStem }}.html" };',
  'src/notes/a.md': page(),
  'src/notes/2020-03-04-dated.md': page(),
  'src/notes/b.md': page(),
  'src/notes/b.11tydata.json': '{"permalink":"/b-by-data/"}',
  'src/dated/2020-05-06-kept.md': page(),
  'src/dated/by-year.md': page(
    'date: 2019-08-07\npermalink: "/{{ page.date | date: \'%Y/%m\' }}/{{ page.fileSlug }}/"',
  ),
  'src/computed.md': page('title: Some Title\neleventyComputed:\n  permalink: "/c/{{ title | slugify }}/"'),
};
