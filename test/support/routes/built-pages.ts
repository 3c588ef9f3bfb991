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

/** The numbers of the marks in each page of an output, by the page's path. */
export type BuiltPages = ReadonlyMap<string, ReadonlySet<number>>;

export async function readPages(output: string): Promise<BuiltPages> {
  const pages = new Map<string, ReadonlySet<number>>();
  for (const path of await filesBelow(output)) {
    if (!/\.(html?|xml)$/.test(path)) continue;
    const text = await readFile(join(output, path), 'utf8');
    pages.set(path, new Set([...text.matchAll(mark)].map(([, number]) => Number(number))));
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
 * @param site.isHeld whether a file without a page waits for its date, or is past it
 */
export function judge(
  marks: ReadonlyMap<string, number>,
  pages: BuiltPages,
  site: { base: string; urls: ReadonlyMap<string, string>; isHeld: (path: string) => boolean },
): Judgement {
  const found: Judgement = { right: [], wrong: [], unknown: [], held: [] };
  const carrying = (number: number) =>
    [...pages].filter(([path, numbers]) => numbers.has(number) && /\.html?$/.test(path));
  const right = new Set<number>();
  const left: [string, number][] = [];
  for (const [path, number] of marks) {
    const url = site.urls.get(path);
    if (url === undefined) left.push([path, number]);
    else {
      const page = filesAt(url, site.base).find((file) => pages.has(file));
      if (page !== undefined && pages.get(page)?.has(number)) {
        right.add(number);
        found.right.push(path);
      } else if (page === undefined && carrying(number).length === 0 && site.isHeld(path)) found.held.push(path);
      else found.wrong.push(`${path} → ${url}, built: ${namesOf(carrying(number))}`);
    }
  }
  for (const [path, number] of left) {
    // A part is shown on the pages of others alone.
    const own = carrying(number).filter(([, numbers]) => ![...numbers].some((one) => right.has(one)));
    if (own.length > 0) found.unknown.push(`${path}, built: ${namesOf(own)}`);
  }
  return found;
}

const namesOf = (pages: readonly (readonly [string, ReadonlySet<number>])[]): string =>
  pages
    .toSorted(([, a], [, b]) => a.size - b.size)
    .slice(0, 3)
    .map(([path]) => path)
    .join(', ') || 'nothing';
