const page = '# A page\n';

/** Indexes and read-me files, names that only look like them, hidden files, an inherited configuration, and files that are left out. */
export const mkdocsSite: Record<string, string> = {
  'mkdocs.yml': `INHERIT: base.yml
site_name: Sample
copyright: !ENV [COPYRIGHT, nobody]
extra:
  function: !!python/name:os.getcwd
plugins:
  - search
`,
  'base.yml': `site_name: Base
site_url: https://example.org/base/
docs_dir: text
`,
  'text/index.md': page,
  'text/about.md': page,
  'text/with.dots.md': page,
  'text/sp ace.md': page,
  'text/Über.md': page,
  'text/_under.md': page,
  'text/.hidden.md': page,
  'text/.hidden/a.md': page,
  'text/templates/a.md': page,
  'text/deep/templates/a.md': page,
  'text/guide/README.md': page,
  'text/guide/one.md': page,
  'text/both/README.md': page,
  'text/both/index.md': page,
  'text/cases/Index.md': page,
  'text/cases/readme.md': page,
  'text/endings/a.markdown': page,
  'text/endings/b.mkd': page,
  'text/endings/c.mdown': page,
  'text/endings/d.mkdn': page,
  'text/endings/e.MD': page,
};
