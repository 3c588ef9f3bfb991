const page = (...lines: string[]) => `---\n${lines.join('\n')}\n---\ntext\n`;

/**
 * Posts by date, by their file's name and by permalinks of their own; drafts, hidden and copied files; pages with and without permalinks; data;
 * categories in one hierarchy; dates with and without time zones.
 */
const content: Record<string, string> = {
  'package.json': '{"hexo":{"version":"8.1.2"},"dependencies":{"hexo":"8.1.2","hexo-renderer-marked":"7.0.1"}}',
  'themes/plain/layout/index.njk': '{{ page.content | safe }}',
  'source/_posts/plain.md': page('date: 2024-01-02 03:04:05', 'lang: en'),
  'source/_posts/day.md': page(
    'date: 2024-05-06',
    'title: Ünïcode — & "Title" ß',
    'lang: en',
    'categories: [One Two, Three]',
  ),
  'source/_posts/east.md': page('date: 2024-01-02 03:04:05 +08:00', 'lang: en', 'category: A b/c'),
  'source/_posts/late.md': page("date: '2024-12-31T23:30:00Z'", 'lang: en', 'categories: [[Deep, Er]]'),
  'source/_posts/slashes.md': page('date: 2024/3/4 5:06:07', 'lang: en'),
  'source/_posts/deep/er/post.md': page('date: 2024-01-02 03:04:05', 'lang: en', 'categories: News'),
  'source/_posts/sp ace.md': page('date: 2024-01-02 03:04:05', 'lang: en', 'categories: [42]'),
  'source/_posts/2023-02-03-named.md': page('title: x', 'lang: en'),
  'source/_posts/2023-02-03-over.md': page('date: 2024-01-02 03:04:05', 'lang: en'),
  'source/_posts/own.md': page('date: 2024-01-02', 'permalink: custom/place/', 'lang: en'),
  'source/_posts/own-html.md': page('date: 2024-01-02', 'permalink: /custom/page.html', 'lang: en'),
  'source/_posts/own-bare.md': page('date: 2024-01-02', 'permalink: custom/bare', 'lang: en'),
  'source/_posts/bare.md': page('date: 2024-01-02', 'layout: false', 'lang: en'),
  'source/_posts/future.md': page('date: 2999-01-02', 'lang: en'),
  'source/_posts/off.md': page('date: 2024-01-02', 'published: false', 'lang: en'),
  'source/_posts/_hidden.md': page('date: 2024-01-02'),
  'source/_posts/tmp.md~': page('date: 2024-01-02'),
  'source/_posts/raw/a.md': page('date: 2024-01-02'),
  'source/_posts/other.markdown': page('date: 2024-01-02', 'lang: en'),
  'source/_posts/plain/note.md': page('date: 2024-01-02', 'lang: en'),
  'source/_drafts/draft.md': page('date: 2024-01-02', 'lang: en'),
  'source/about/index.md': page('title: About'),
  'source/about/team.md': page('title: Team'),
  'source/de/index.md': page('title: Deutsch'),
  'source/contact.md': page('title: x', 'layout: false'),
  'source/off-page.md': page('published: false'),
  'source/future-page.md': page('date: 2999-01-02'),
  'source/moved/a.md': page('permalink: elsewhere/'),
  'source/moved/b.md': page('permalink: elsewhere/b'),
  'source/moved/c.md': page('permalink: elsewhere/c.d'),
  'source/with.dots.md': page('title: x'),
  'source/copied/readme.md': page('title: x'),
  'source/left-out/a.md': page('title: x'),
  'source/ignored/a.md': page('title: x'),
  'source/_kept/a.md': page('title: x'),
  'source/_hidden/a.md': page('title: x'),
  'source/.dot/a.md': page('title: x'),
  'source/_data/menu.yml': 'home: /\n',
};

const settings = `theme: plain
url: https://example.org/sub/
skip_render:
  - copied/*.md
  - _posts/raw/**
exclude: [left-out/**]
include: [_kept/*]
ignore: ['**/ignored/**']
`;

/** Configurations under which the same files have other addresses. */
export const hexoSites: Record<string, Record<string, string>> = Object.fromEntries(
  Object.entries({
    'as Hexo begins': '',
    'with names that hold dates':
      'new_post_name: :year-:month-:day-:title.md\npermalink: :lang/:i_month/:i_day/:name/\n',
    'with asset folders and drafts':
      'post_asset_folder: true\nrender_drafts: true\npermalink: :year/:hour-:minute-:second/:title\n',
    'with titles and categories':
      'permalink: c/:category/:post_title-:title.html\nfilename_case: 1\ncategory_map:\n  News: neu\npretty_urls:\n  trailing_html: false\n',
    'with a time zone': 'timezone: Asia/Tokyo\nfuture: false\npermalink: :year/:month/:day/:timestamp/:hash/:title/\n',
    'with values that stand for others':
      'permalink: :lang/:kind/:title/\npermalink_defaults:\n  kind: note\nnew_post_name: :kind/:title.md\nroot: /elsewhere/\n',
  }).map(([name, more]) => [name, { ...content, '_config.yml': settings + more }]),
);
