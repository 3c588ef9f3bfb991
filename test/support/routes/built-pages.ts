import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

const source = /\.(mdx?|markdown|mkdn?|mdown|html|njk|liquid|astro)$/i;
/** What pages are made with, and pages of many entries. */
const template = /(^|\/)(node_modules|themes|layouts|_layouts|_includes|components|scaffolds|archetypes)\/|\[/;
const mark = /portico(\d{4})mark/g;

/** Puts a word of its own at the end of every file that may become a page. @returns the word's number by the file's path */
export async function markSources(directory: string): Promise<Map<string, number>> {
  const marks = new Map<string, number>();
  for (const path of await filesBelow(directory)) {
    if (!source.test(path) || template.test(path)) continue;
    const number = marks.size + 1;
    const text = await readFile(join(directory, path), 'utf8');
    const word = `portico${String(number).padStart(4, '0')}mark`;
    await writeFile(join(directory, path), `${text}\n${/\.astro$/.test(path) ? `<p>${word}</p>` : word}\n`);
    marks.set(path, number);
  }
  return marks;
}

/** What is read of a page of an output. */
interface BuiltPage {
  /** The numbers of the marks it carries. */
  numbers: ReadonlySet<number>;
  /** Path of the URL that it says it has itself, if it says so. */
  canonical: string | undefined;
  /** The same of the page that it leads on to. */
  leadsTo: string | undefined;
}

/** Pages by their paths in the output. */
export type BuiltPages = ReadonlyMap<string, BuiltPage>;

const canonicalLink = /<link[^>]* rel="?canonical"?[^>]*>/;
const refresh = /<meta[^>]* http-equiv="?refresh"?[^>]*>/;
const pathIn = (tag: string | undefined, address: RegExp): string | undefined => {
  const url = address.exec(tag ?? '')?.[1];
  return url === undefined ? undefined : new URL(url, 'https://example.org').pathname;
};

/** A path that is compared with others: decoded, and of an index that of its directory. */
const comparable = (path: string) => decodeURIComponent(path).replace(/\/index\.html$/, '/');

export async function readPages(output: string): Promise<BuiltPages> {
  const pages = new Map<string, BuiltPage>();
  for (const path of await filesBelow(output)) {
    if (!/\.(html?|xml)$/.test(path)) continue;
    const text = await readFile(join(output, path), 'utf8');
    pages.set(path, {
      numbers: new Set([...text.matchAll(mark)].map(([, number]) => Number(number))),
      canonical: pathIn(canonicalLink.exec(text)?.[0], / href="([^"]*)"/),
      leadsTo: pathIn(refresh.exec(text)?.[0], /url=([^"]*)"/),
    });
  }
  return pages;
}

/** Files of the output that a URL may be; the site's base is not part of what is written. */
export function filesAt(url: string, base: string): string[] {
  const path = decodeURIComponent(url).slice(base.length + 1);
  if (path === '' || path.endsWith('/')) return [`${path}index.html`];
  return [path, `${path}.html`, `${path}/index.html`];
}

/** How the addresses given to files compare with the pages that a framework made of them. */
export interface Judgement {
  right: string[];
  /** The address is another page's, or that of none. */
  wrong: string[];
  /** There is a page, and no address. */
  unknown: string[];
  /** There is an address and no page, because of a date: the address is not judged. */
  held: string[];
}

/**
 * Judges addresses by the marks that the pages carry.
 * @param site.urls the address of every file that has one
 * @param site.aliases addresses that lead on to the page of a file, with the file's path
 * @param site.isHeld whether a file without a page waits for its date, or is past it
 */
export function judge(
  marks: ReadonlyMap<string, number>,
  pages: BuiltPages,
  site: {
    base: string;
    urls: ReadonlyMap<string, string>;
    aliases?: ReadonlyMap<string, string>;
    isHeld: (path: string) => boolean;
  },
): Judgement {
  const found: Judgement = { right: [], wrong: [], unknown: [], held: [] };
  for (const [alias, path] of site.aliases ?? []) {
    const page = filesAt(alias, site.base).find((file) => pages.has(file));
    const { leadsTo } = (page === undefined ? undefined : pages.get(page)) ?? {};
    // A page of its own stands where an alias does, too.
    const isSame = leadsTo !== undefined && comparable(leadsTo) === comparable(site.urls.get(path) ?? '');
    if (!isSame) found.wrong.push(`${alias} → ${path}, built: ${leadsTo ?? 'no page that leads on'}`);
  }
  const known = new Set([...(site.aliases?.keys() ?? [])].flatMap((alias) => filesAt(alias, site.base).slice(0, 1)));
  for (const [path, { leadsTo }] of known.size > 0 ? pages : [])
    if (leadsTo !== undefined && !known.has(path)) found.unknown.push(`${path}, leads on to ${leadsTo}`);
  const carrying = (number: number) =>
    [...pages].filter(([path, { numbers }]) => numbers.has(number) && /\.html?$/.test(path));
  const right = new Set<number>();
  const left: [string, number][] = [];
  for (const [path, number] of marks) {
    const url = site.urls.get(path);
    if (url === undefined) left.push([path, number]);
    else {
      const page = filesAt(url, site.base).find((file) => pages.has(file));
      const built = page === undefined ? undefined : pages.get(page);
      // A page for errors is shown at other addresses than its own.
      const isSilent = built?.canonical === undefined || /(^|\/)(404|500)\.html$/.test(page ?? '');
      const isSaid = isSilent || comparable(built?.canonical ?? '') === comparable(url);
      if (built?.numbers.has(number) && !isSaid) found.wrong.push(`${path} → ${url}, its page says ${built.canonical}`);
      else if (built?.numbers.has(number)) {
        right.add(number);
        found.right.push(path);
      } else if (page === undefined && carrying(number).length === 0 && site.isHeld(path)) found.held.push(path);
      else found.wrong.push(`${path} → ${url}, built: ${namesOf(carrying(number))}`);
    }
  }
  for (const [path, number] of left) {
    // A part is shown on the pages of others alone.
    const own = carrying(number).filter(([, { numbers }]) => ![...numbers].some((one) => right.has(one)));
    if (own.length > 0) found.unknown.push(`${path}, built: ${namesOf(own)}`);
  }
  return found;
}

const namesOf = (pages: readonly (readonly [string, BuiltPage])[]): string =>
  pages
    .toSorted(([, a], [, b]) => a.numbers.size - b.numbers.size)
    .slice(0, 3)
    .map(([path]) => path)
    .join(', ') || 'nothing';
