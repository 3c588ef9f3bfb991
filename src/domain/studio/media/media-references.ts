import path from 'node:path';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { Specifiers } from '../schema/static/aliases.ts';
import { mediaRootOf, publicPath } from './media-facts.ts';
import { aliasesOf } from './media-values.ts';

/** An entry that names a media file, in its frontmatter or in a link of its body. */
export interface MediaReference {
  collection: string;
  slug: string;
  path: string;
}

/** A longer path that ends or goes on with these characters is another file. */
const pathCharacter = /[\w%.~/-]/;

function mentions(text: string, form: string): boolean {
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
    const before = text[at - 1] ?? ' ';
    const after = text[at + form.length] ?? ' ';
    if (!pathCharacter.test(before) && !/[\w%~/-]/.test(after)) return true;
  }
  return false;
}

function decoded(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/**
 * The aliases frameworks give without a config of the site: Nuxt's and Vue's `~` and `@` (the directory of sources) with `~~` and `@@` (the
 * root), webpack's `~@`, SvelteKit's `$lib`, Docusaurus' `@site`.
 */
function usualAliases({ discovery: { contentRoot, mediaRoots } }: SiteIndex, file: string): string[] {
  const below = (marks: readonly string[], ...directory: string[]) => {
    const home = directory.filter(Boolean).join('/');
    const rest = home === '' ? file : file.startsWith(`${home}/`) ? file.slice(home.length + 1) : null;
    return rest === null ? [] : marks.map((mark) => `${mark}/${rest}`);
  };
  const sources = [contentRoot, `${contentRoot}/src`, `${contentRoot}/app`, ...mediaRoots.map((root) => root.path)];
  return [
    ...sources.flatMap((home) => below(['~', '@', '~@'], home.replace(/^\//, ''))),
    ...below(['~~', '@@', '@site'], contentRoot),
    ...below(['$lib'], contentRoot, 'src/lib'),
  ];
}

/**
 * The ways an entry may write a file: its URL, its path in the repository, its path from the entry, an alias; each plain and
 * percent-encoded.
 */
function formsOf(file: string, url: string | undefined, entry: string, aliases: readonly string[]): string[] {
  const relative = path.posix.relative(path.posix.dirname(entry), file);
  const forms = [url, `/${file}`, file, relative, `./${relative}`, ...aliases].filter((form) => form !== undefined);
  return [...new Set(forms.flatMap((form) => [form, encodeURI(form), decoded(form)]))];
}

/** Entries that name media files, in the order of the files; reads every entry once. */
export async function mediaReferences(
  { tree, site }: { tree: Snapshot; site: SiteIndex },
  files: readonly string[],
): Promise<MediaReference[][]> {
  const wanted = files.map((file) => {
    const name = file.slice(file.lastIndexOf('/') + 1);
    const url = publicPath(mediaRootOf(site, file), file);
    return { file, url, name, encoded: encodeURIComponent(name), usual: usualAliases(site, file) };
  });
  const configs = new Map<string, Promise<Specifiers>>();
  const specifiersOf = (entry: string) => {
    const home = path.posix.dirname(entry);
    const known = configs.get(home) ?? aliasesOf(tree, entry).then(({ specifiers }) => specifiers);
    configs.set(home, known);
    return known;
  };
  const entries = [...site.collections].flatMap(([collection, index]) =>
    index.entries.map((entry) => ({ collection, ...entry })),
  );
  const found = files.map((): MediaReference[] => []);
  let next = 0;
  for await (const { content } of tree.blobs(entries.map((entry) => entry.oid))) {
    const entry = entries[next++];
    if (!entry) continue;
    for (const [at, { file, url, name, encoded, usual }] of wanted.entries()) {
      // Most entries name neither form of the file's name, and need no further look.
      if (!content.includes(name) && !content.includes(encoded)) continue;
      const text = content.toString('utf8');
      const aliases = [...usual, ...(await specifiersOf(entry.path))(file)];
      if (formsOf(file, url, entry.path, aliases).some((form) => mentions(text, form))) {
        found[at]?.push({ collection: entry.collection, slug: entry.slug, path: entry.path });
      }
    }
  }
  return found;
}
