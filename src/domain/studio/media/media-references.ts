import path from 'node:path';
import { findYielding, forEachYielding, Pace } from '../../../lib/concurrency.ts';
import { decodedUri } from '../../../lib/text.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { hugoGlob } from '../frameworks/hugo/mounts.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import { below } from '../schema/site-layout.ts';
import { configFor, type Specifiers } from '../schema/static/aliases.ts';
import { mediaRootOf, publicPath } from './media-facts.ts';
import { aliasConfigs, aliasesOf } from './media-values.ts';

/** An entry that names a media file, in its frontmatter or in a link of its body. */
export interface MediaReference {
  collection: string;
  slug: string;
  path: string;
}

/** A longer path that ends or goes on with these characters is another file. */
const pathCharacter = /[\w%.~/-]/;

/** An alias may be a word like any other: it counts where it is a value, a link or an attribute. */
const isWord = (form: string) => /^[\w-]+$/.test(form);
const beforeValue = /["'`(=]$|[:-] +$/;
const afterValue = /^(?:["'`)>\s,\]]|$)/;

function mentions(text: string, form: string): boolean {
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
    const end = at + form.length;
    if (isWord(form)) {
      if (beforeValue.test(text.slice(Math.max(0, at - 8), at)) && afterValue.test(text.slice(end, end + 1)))
        return true;
      continue;
    }
    const before = text[at - 1] ?? ' ';
    const after = text[end] ?? ' ';
    if (!pathCharacter.test(before) && !/[\w%~/-]/.test(after)) return true;
  }
  return false;
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

/** A glob by which Hugo's `resources` name files beside a page: `src: "images/*.jpg"`, `src = 'a/**'`. */
const resourceGlob = /\bsrc["']?[ \t]?[:=][ \t]?["']?([^\s"',}]{0,200}[*?[{][^\s"',]{0,200})/g;

/** Whether one of the resources of a page is named by a glob that a file fits. Hugo compares without regard to case. */
function inResources(text: string, entry: string, file: string): boolean {
  const rest = below(path.posix.dirname(entry), file)?.toLowerCase();
  if (rest === undefined || !text.includes('resources')) return false;
  return [...text.matchAll(resourceGlob)]
    .slice(0, mostGlobs)
    .some(([, glob = '']) => hugoGlob(glob.toLowerCase())?.matches(rest));
}

/** What is looked at of the resources of one entry. */
const mostGlobs = 100;

/**
 * The ways an entry may write a file: its URL with and without the path all of the site lies below, its path in the repository, its path from the entry or from where such files lie, an alias; each
 * plain and percent-encoded.
 */
function formsOf(
  { file, urls, rooted }: { file: string; urls: readonly string[]; rooted: string | undefined },
  entry: string,
  aliases: readonly string[],
): string[] {
  const relative = path.posix.relative(path.posix.dirname(entry), file);
  const forms = [...urls, rooted, `/${file}`, file, relative, `./${relative}`, ...aliases].filter(
    (form) => form !== undefined,
  );
  return [...new Set(forms.flatMap((form) => [form, encodeURI(form), decodedUri(form)]))];
}

/** What the aliases of a config make of each file, plain and percent-encoded. */
const aliasesOfFiles = ({ specifiers }: { specifiers: Specifiers }, files: readonly string[]): string[][] =>
  files.map((file) => specifiers(file).flatMap((alias) => [...new Set([alias, encodeURI(alias)])]));

/**
 * Entries that name media files, in the order of the files; reads every entry once.
 * @param at.base the path all of the site lies below, `''` for none
 * @param pages addresses of files that are pages
 */
export async function mediaReferences(
  { tree, site, base }: { tree: Snapshot; site: SiteIndex; base: string },
  files: readonly string[],
  pages: ReadonlyMap<string, string> = new Map(),
): Promise<MediaReference[][]> {
  const wanted = files.map((file) => {
    const name = file.slice(file.lastIndexOf('/') + 1);
    const root = mediaRootOf(site, file);
    const url = publicPath(root, file);
    const inside = root && url !== undefined ? below(root.path, file) : null;
    // Hugo's `images` and `resources.Get` are written so. A name alone is rather that of a file beside the entry.
    const rooted = inside?.includes('/') ? inside : undefined;
    const page = pages.get(file)?.replace(/\/$/, '');
    const addresses = page ? [page, `${page}/`] : [];
    const urls = url === undefined ? [] : [...new Set([url, encodePath(base) + url])];
    return { file, urls, rooted, name, encoded: encodeURIComponent(name), usual: usualAliases(site, file), addresses };
  });
  const configs = await aliasConfigs(tree);
  const byConfig = new Map<string, string[][]>();
  const aliasesFor = async (entry: string) => {
    const config = configFor(entry, configs);
    if (config === undefined) return null;
    const known = byConfig.get(config) ?? aliasesOfFiles(await aliasesOf(tree, entry, configs), files);
    byConfig.set(config, known);
    return known;
  };
  const entries: { collection: string; slug: string; path: string; oid: string }[] = [];
  for (const [collection, index] of site.collections)
    await forEachYielding(index.entries, ({ slug, path, oid }) => entries.push({ collection, slug, path, oid }));
  const hasResources = site.discovery.schemas.some(({ source }) => source.kind === 'hugo');
  const found = files.map((): MediaReference[] => []);
  let next = 0;
  const pace = new Pace();
  for await (const { content } of tree.blobs(entries.map((entry) => entry.oid))) {
    if (pace.isDue) await pace.yield();
    const entry = entries[next++];
    if (!entry) continue;
    const given = await aliasesFor(entry.path);
    let whole: string | undefined;
    for (const [at, { file, urls, rooted, name, encoded, usual, addresses }] of wanted.entries()) {
      // Thousands of files, each looked for in megabytes, take minutes.
      if (pace.isDue) await pace.yield();
      const own = given?.[at] ?? [];
      // Most entries name the file in no form, and need no further look. An alias may have nothing of its name.
      const plain = [name, encoded, ...own, ...addresses];
      // A config can have thousands of aliases.
      const isPlain = (await findYielding(plain, (form) => content.includes(form))) !== undefined;
      if (!isPlain && !(hasResources && content.includes('resources'))) continue;
      whole ??= content.toString('utf8');
      const text = whole;
      const aliases = [...usual, ...own, ...addresses];
      const forms = isPlain ? formsOf({ file, urls, rooted }, entry.path, aliases) : [];
      const isNamed = (await findYielding(forms, (form) => mentions(text, form))) !== undefined;
      if (isNamed || (hasResources && inResources(text, entry.path, file))) {
        found[at]?.push({ collection: entry.collection, slug: entry.slug, path: entry.path });
      }
    }
  }
  return found;
}
