const page = (title: string, more = '') => `---\ntitle: "${title}"\n${more}${more === '' ? '' : '\n'}---\nText\n`;

/** Sections, bundles, permalinks, addresses of their own, two languages, and pages that are not published. */
export const hugoSite: Record<string, string> = {
  'hugo.toml': `baseURL = 'https://example.org/base/'
title = 'Sample'
defaultContentLanguage = 'en'
[permalinks]
news = '/:year/:month/:slug/'
titled = '/t/:title/'
chapters = '/s/:sections/:filename/'
logs = '/l/:section/:day-:monthname/:weekdayname/:yearday/:title'
[languages.en]
weight = 1
[languages.fr]
weight = 2
`,
  'layouts/index.html': 'Home',
  'layouts/_default/single.html': '{{ .RelPermalink }}',
  'layouts/_default/list.html': '{{ .RelPermalink }}',
  'content/_index.md': page('Home'),
  'content/_index.fr.md': page('Accueil'),
  'content/about.md': page('About'),
  'content/about.fr.md': page('À propos'),
  'content/Big Name (v1.2).md': page('Big'),
  'content/posts/_index.md': page('Posts'),
  "content/posts/Hello World's Édition.md": page('Hello'),
  'content/posts/a.b.md': page('Dots'),
  'content/posts/under_score--two.md': page('Signs'),
  'content/posts/slugged.md': page('Slugged', "slug: My Slug's Name"),
  'content/posts/slugged.fr.md': page('Slugged', 'slug: mon-slug'),
  'content/posts/bundle/index.md': page('Bundle', 'slug: other-bundle'),
  'content/posts/bundle/part.md': page('A resource'),
  'content/posts/plain/index.md': page('Plain'),
  'content/posts/plain/index.fr.md': page('Simple'),
  'content/posts/own-url.md': page('Own', 'url: /Über/My Page.html'),
  'content/posts/relative-url.md': page('Own', 'url: rel/thing'),
  'content/posts/relative-url.fr.md': page('Own', 'url: rel/thing'),
  'content/posts/draft.md': page('Draft', 'draft: true'),
  'content/posts/future.md': page('Future', 'date: 2999-01-01'),
  'content/posts/publish-later.md': page('Later', 'publishDate: 2999-01-01'),
  'content/posts/expired.md': page('Expired', 'expiryDate: 2001-01-01'),
  'content/posts/unrendered.md': page('No', '_build:\n  render: never'),
  'content/posts/headless/index.md': page('No', 'headless: true'),
  'content/news/_index.md': page('News'),
  'content/news/one.md': page('The First: Post & more', 'date: 2020-02-03T23:30:00-05:00'),
  'content/news/nested/two.md': page('Two', 'date: 2020-02-03\nslug: TwO'),
  'content/news/one.fr.md': page('Le premier', 'date: 2020-02-03'),
  'content/titled/b.md': page('Hello, Wörld! C++ 100% a_b – x'),
  'content/titled/nested/index.md': page('Bundle T'),
  'content/chapters/a/_index.md': page('A', 'slug: unused'),
  'content/chapters/a/b/c.md': page('C'),
  'content/chapters/loose.md': page('Loose'),
  'content/logs/x.md': page('Log X', 'date: 2021-03-04'),
  'content/docs/deep/_index.md': page('Deep'),
  'content/docs/deep/leaf.md': page('Leaf'),
  'content/docs/no-index/p.md': page('P'),
  'content/docs/a  b -- c.md': page('Spaces'),
  'content/docs/tag~x+y@z=1.md': page('Tags', 'tags: [One Two, "C#"]'),
  'content/raw.html': '---\ntitle: Raw\n---\n<p>Raw</p>\n',
};
/** Lists of taxonomies, of pages, and of sections without a page of their own; the redirect from the default language. */
export const hugoMade =
  /^en\/index\.html$|^(fr\/)?(tags|categories|page)\/|^(fr\/)?(posts|news|titled|chapters|logs|docs)\/index\.html$/;
