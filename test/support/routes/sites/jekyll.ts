const page = (more = 'title: A page') => `---\n${more}\n---\nText\n`;

/** Posts, drafts, collections, pages, defaults, permalinks of every kind, and files that are left out. */
export const jekyllSite: Record<string, string> = {
  '_config.yml': `title: Sample
baseurl: /base
collections:
  recipes: { output: true }
  people: { output: true, permalink: "/who/:name:output_ext" }
  hidden: { output: false }
defaults:
  - scope: { path: "", type: posts }
    values: { layout: plain }
  - scope: { path: "_posts/special", type: posts }
    values: { permalink: "/special/:slug/" }
  - scope: { path: "about" }
    values: { author: someone }
  - scope: { path: "given" }
    values: { permalink: "/by-place/:basename/", published: false }
  - scope: { path: "given/typed", type: pages }
    values: { permalink: "/by-type/:basename:output_ext" }
  - scope: { path: "given/posts-only", type: posts }
    values: { permalink: "/never/" }
  - scope: { path: "_recipes/withheld" }
    values: { published: false }
exclude: [left-out, "*.tmp.md"]
include: [_included.md]
`,
  '_layouts/plain.html': '{{ content }}',
  'index.md': page(),
  'about.md': page(),
  'readme.md': 'No frontmatter: copied as it is\n',
  'docs/index.md': page(),
  'docs/Some Page.md': page(),
  'docs/nested/deep.markdown': page(),
  'docs/own.md': page('permalink: /elsewhere/own/'),
  'docs/file.md': page('permalink: /docs/file.htm'),
  'docs/plain.html': page(),
  'docs/tokens.md': page('permalink: /:path/named/:basename/:title/'),
  'given/a.md': page(),
  'given/own.md': page('permalink: /given-own/'),
  'given/typed/b.md': page(),
  'given/posts-only/c.md': page(),
  '_recipes/withheld/d.md': page(),
  '_recipes/later.md': page('date: 2999-01-01'),
  'dated-page.md': page('date: 2999-01-01'),
  'unpublished.md': page('published: false'),
  '_included.md': page(),
  '_left.md': page(),
  'left-out/a.md': page(),
  'note.tmp.md': page(),
  '_posts/2020-01-02-Hello-World.md': page(),
  '_posts/2020-01-03-with-category.md': page('category: News'),
  '_posts/2020-01-04-with-categories.md': page('categories: One Two'),
  '_posts/2020-01-05-list.md': page('categories: [Big Thing, small]'),
  '_posts/2020-01-06-date.md': page('date: 2021-05-06 23:30:00 -0500'),
  '_posts/2020-01-07-slug.md': page('slug: Given Slug'),
  '_posts/2020-01-08-own.md': page('permalink: /own-post'),
  '_posts/2020-01-09-tokens.md': page('permalink: /:year/:i_month/:title.html'),
  "_posts/2020-01-10-it's-ümlaut_(x).md": page(),
  '_posts/2020-1-9-short.md': page(),
  '_posts/nested/2020-01-11-nested.md': page(),
  '_posts/special/2020-01-12-Special One.md': page(),
  '_posts/2020-01-13-hidden.md': page('published: false'),
  '_posts/2999-01-01-future.md': page(),
  '_posts/no-date.md': page(),
  'blog/_posts/2020-02-02-in-category.md': page('categories: [extra]'),
  '_drafts/idea.md': page(),
  '_recipes/soup.md': page(),
  '_recipes/deep/Bread & Butter.md': page(),
  '_recipes/index.md': page(),
  '_recipes/own.md': page('permalink: /best/'),
  '_people/Ada Lovelace.md': page(),
  '_hidden/secret.md': page(),
};
/** Frontmatter is what makes a file a page: this one is copied. */
export const jekyllMade = /^$/;
