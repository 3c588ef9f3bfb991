const page = (title: string, ...more: string[]) => `---\n${[`title: ${title}`, ...more].join('\n')}\n---\nText\n`;

/** Configuration in layers, mounted directories, values that sections hand down, and languages with settings of their own. */
export const hugoLayers: Record<string, string> = {
  'config/_default/hugo.toml': `baseURL = 'https://example.org/base/'
title = 'Sample'
defaultContentLanguage = 'en'
disableLanguages = ['sv']
[permalinks]
news = '/default/:slug/'
[[cascade]]
slug = 'by-site'
[cascade._target]
path = '/tree/sub/**'
[[module.mounts]]
source = 'content'
target = 'content'
excludeFiles = ['secret/*', '**/*.part.md']
[[module.mounts]]
source = 'guide'
target = 'content/handbook'
includeFiles = ['*.md', 'deep/**']
[[module.mounts]]
source = 'notes/about.md'
target = 'content/about.md'
[[module.mounts]]
source = 'translated'
target = 'content'
lang = 'fr'
`,
  'config/_default/languages.toml': '[en]\nweight = 1\n[fr]\nweight = 2\n[sv]\nweight = 3\n[de]\ndisabled = true\n',
  'config/production/permalinks.toml': "posts = '/production/:slug/'\n",
  'config/production/languages.fr.toml': "[permalinks]\nposts = '/articles/:slug/'\n",
  'config/staging/permalinks.toml': "posts = '/staging/:slug/'\n",
  'layouts/index.html': 'Home',
  'layouts/_default/single.html': '{{ .RelPermalink }}',
  'layouts/_default/list.html': '{{ .RelPermalink }}',
  'content/_index.md': page('Home'),
  'content/posts/one.md': page('One'),
  'content/posts/one.fr.md': page('Un'),
  'content/posts/one.sv.md': page('Ett'),
  'content/posts/one.de.md': page('Eins'),
  'content/posts/two.part.md': page('A part'),
  'content/news/one.md': page('One'),
  'content/news/one.fr.md': page('Un'),
  'content/secret/a.md': page('Secret'),
  'content/secret/deep/b.md': page('Secret'),
  'content/tree/_index.md': page('Tree', 'cascade:', '- slug: below', '  _target: { path: /tree/other/** }'),
  'content/tree/other/a.md': page('A'),
  'content/tree/other/b.md': page('B', 'slug: own'),
  'content/tree/other/c.fr.md': page('C'),
  'content/tree/sub/a.md': page('A'),
  'content/tree/plain.md': page('Plain'),
  'content/quiet/_index.md': page('Quiet', 'cascade:', '  _build: { render: never }', '  slug: given'),
  'content/quiet/a.md': page('A'),
  'content/quiet/loud/_index.md': page('Loud', 'cascade:', '  _build: { render: always }'),
  'content/quiet/loud/a.md': page('A'),
  'content/drafts/_index.md': page('Drafts', 'draft: true'),
  'content/drafts/a.md': page('A'),
  'content/drafts/deep/_index.md': page('Deep'),
  'content/drafts/deep/a.md': page('A'),
  'content/later/_index.md': page('Later', 'date: 2999-01-01'),
  'content/later/a.md': page('A', 'date: 2001-01-01'),
  'content/kinds/_index.md': page(
    'Kinds',
    'cascade:',
    '- { slug: section-only, _target: { kind: section } }',
    '- { slug: page-only, _target: { kind: page, lang: en, environment: production } }',
    '- { draft: true, _target: { environment: development } }',
  ),
  'content/kinds/a.md': page('A'),
  'content/heads/_index.md': page('Heads', 'headless: true'),
  'content/heads/a.md': page('A', 'headless: true'),
  'content/heads/leaf/index.md': page('Leaf', 'headless: true'),
  'guide/_index.md': page('Guide'),
  'guide/one.md': page('One'),
  'guide/deep/two.md': page('Two'),
  'guide/left-out/three.md': page('Three'),
  'notes/about.md': page('About'),
  'notes/private.md': page('Private'),
  'translated/posts/three.md': page('Trois'),
  'other/page.md': page('Not mounted'),
};
/** Lists of taxonomies and of pages, of sections without a page of their own; the redirect from the default language. */
export const hugoLayersMade =
  /^en\/index\.html$|^fr\/index\.html$|^(fr\/)?(tags|categories|page)\/|^(fr\/)?(posts|news|tree)\/index\.html$/;
