import { createHash } from 'node:crypto';
import { forEachYielding, mapYielding, sortYielding } from '../../../../lib/concurrency.ts';
import { foldCase, normalized } from '../../../../lib/text.ts';
import { gitSettings, isGitDisguise, nameProblem } from '../../../studio/path-rules.ts';
import { rewritableKind } from '../rewrite/rewrite-content.ts';
import type { SiteAddresses } from '../site-addresses.ts';

/** Longest segment, bytes of UTF-8. */
const longest = 200;

/** First digits of the SHA-256 of a text. */
export const shortHash = (text: string, digits = 8): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);

const encoded = (text: string) =>
  [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f<>:"|?*\\/]/gu;

/** Decodes what is UTF-8; anything else stays as it was written. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** What a segment ends with from its last dot on, when that is short enough for an extension; else ''. */
function extensionOf(segment: string): string {
  const dot = segment.lastIndexOf('.');
  return dot > 0 && segment.length - dot <= 16 ? segment.slice(dot) : '';
}

/** Puts something before the extension of a name. */
function beforeExtension(name: string, mark: string): string {
  const extension = extensionOf(name);
  return name.slice(0, name.length - extension.length) + mark + extension;
}

function shortened(segment: string): string {
  if (Buffer.byteLength(segment) <= longest) return segment;
  const end = `~${shortHash(segment)}${extensionOf(segment)}`;
  let kept = '';
  for (const character of segment) {
    if (Buffer.byteLength(kept + character + end) > longest) break;
    kept += character;
  }
  return kept + end;
}

/**
 * A segment of a URL's path as the name of a file or a directory on every system: decoded where that is safe, percent-encoded where a
 * character or the whole name means something else there, at most 200 bytes.
 */
export function safeSegment(segment: string): string {
  const plain = normalized(decoded(segment));
  if (plain === '') return '%2F';
  const name = plain.replace(unsafe, encoded);
  if (isGitDisguise(name)) return shortened(encoded(name));
  const isSpecial =
    /^\.{1,2}$/.test(name) ||
    name.toLowerCase() === '.lfsconfig' ||
    gitSettings(name) !== null ||
    (nameProblem(name)?.includes('device') ?? false);
  const first = isSpecial ? encoded([...name][0] ?? '') + [...name].slice(1).join('') : name;
  return shortened(first.replace(/[. ]$/u, encoded));
}

/** A captured content on its way to a file. */
export interface CapturedFile {
  /** Normalised. */
  url: string;
  content_type: string | null;
  sha256: string;
}

/** Where the contents of a site go, relative to the directory they are imported into. */
interface FileMap {
  /** By URL; several URLs have one file only where they are `/a` and `/a/` with the same content. */
  files: Map<string, string>;
  /** The URL whose content each file has. */
  owners: Map<string, string>;
  /** URLs of other hosts whose path one before them has. */
  collisions: string[];
}

/** The file that says what an import has written. */
export const manifestPath = '_portico/snapshot.json';

/** Longest path, bytes of UTF-8: room is left for the directory. */
const longestPath = 2_000;
/** Deepest path: room is left for the directory. */
const deepestPath = 48;

const isHtml = ({ content_type }: CapturedFile) => ['html', 'xhtml'].includes(rewritableKind(content_type) ?? '');

/** The path a URL would like to have, its query aside. @param isTwin there is another content at the same path with a slash */
function wishedPath(file: CapturedFile, place: URL, isTwin: boolean): string {
  const segments = place.pathname.slice(1).split('/');
  const last = segments.pop() ?? '';
  const folders = segments.map(safeSegment);
  const name = last === '' ? [] : [safeSegment(last)];
  if (!isHtml(file)) return [...folders, ...(name.length > 0 ? name : ['index'])].join('/');
  if (last === '') return [...folders, 'index.html'].join('/');
  if (/\.x?html?$/i.test(last)) return [...folders, ...name].join('/');
  return [...folders, ...(isTwin ? [`${name[0]}.html`] : [...name, 'index.html'])].join('/');
}

const withMark = (path: string, mark: string) => {
  const slash = path.lastIndexOf('/') + 1;
  return path.slice(0, slash) + beforeExtension(path.slice(slash), mark);
};

/** What is too long or too deep for a path gets a name made of its hash. */
function bounded(path: string, url: string): string {
  if (Buffer.byteLength(path) <= longestPath && path.split('/').length <= deepestPath) return path;
  return `_long/${shortHash(url, 16)}${/\.[a-z0-9]{1,8}$/i.exec(path)?.[0] ?? ''}`;
}

const ownDirectory = manifestPath.slice(0, manifestPath.indexOf('/'));

/** What would need the file of an import's own as a directory goes into another one; what goes beside that file spells its directory alike. */
function besideManifest(path: string): string {
  const folded = foldCase(path);
  if (folded.startsWith(`${manifestPath}/`)) return `%5F${path.slice(1)}`;
  return folded.startsWith(`${ownDirectory}/`) ? ownDirectory + path.slice(path.indexOf('/')) : path;
}

interface Wish {
  url: string;
  path: string;
}

/** Characters of the folders that two paths have in common, with their slashes. */
export function sharedFolders(one: string, other: string): number {
  let end = 0;
  for (let at = 0; at < one.length && one[at] === other[at]; at += 1) if (one[at] === '/') end = at + 1;
  return end;
}

const inFoldedOrder = <T extends { folded: string }>(all: readonly T[]): Promise<T[]> =>
  sortYielding(all, (a, b) => (a.folded < b.folded ? -1 : Number(a.folded > b.folded)));

/** A path, and how many of its folders are there already. */
interface Spelled {
  path: string;
  known: number;
}

/**
 * Spells folders as they stand. Where one stands in two spellings, those of a path that stand as they are stay, and the deepest folder that is
 * there in any spelling goes before one above it: a new one would not do beside it.
 */
async function spellingOf(standing: readonly string[]): Promise<(path: string) => Spelled> {
  const exact = await inTextOrder(standing);
  const byFolded = await inFoldedOrder(await mapYielding(standing, (path) => ({ path, folded: foldCase(path) })));
  const inOrder = byFolded.map(({ folded }) => folded);
  return (path) => {
    const folded = foldCase(path);
    const at = placeIn(inOrder, folded);
    const end = Math.max(...[at - 1, at].map((beside) => sharedFolders(folded, inOrder[beside] ?? '')));
    const shared = folded.slice(0, end);
    const known = shared.split('/').length - 1;
    const names = path.split('/');
    const start = names
      .slice(0, known)
      .map((name) => `${name}/`)
      .join('');
    const isThere = exact[placeIn(exact, start)]?.startsWith(start);
    const found = isThere ? undefined : byFolded[placeIn(inOrder, shared)]?.path.split('/');
    return { path: [...(found ?? names).slice(0, known), ...names.slice(known)].join('/'), known };
  };
}

/** The names of a path, and how many of its folders the one before it in folded order has as well. */
function namesBeside(path: string, folded: readonly string[], before: readonly string[]) {
  const most = Math.min(folded.length, before.length) - 1;
  let shared = 0;
  while (shared < most && folded[shared] === before[shared]) shared += 1;
  return { names: path.split('/'), shared };
}

/**
 * Gives directories that differ only in case or normalisation one spelling, since some systems have no two such, and what stands in a branch is
 * compared so: the one that stands, so that one page with another does not rename all others; of a new directory, that of the path that comes
 * first. In folded order all paths of a directory follow one another.
 * @param standing paths whose directories keep their spelling
 */
async function withOneSpelling(wishes: readonly Wish[], standing: readonly string[]): Promise<Wish[]> {
  const spelled = await spellingOf(standing);
  const all = await mapYielding(wishes, ({ url, path }, at) => ({ at, url, folded: foldCase(path), ...spelled(path) }));
  const inOrder = await inFoldedOrder(all);
  // From the front: the first to come of all paths up to each.
  let before: { names: string[]; folded: string[]; firsts: number[] } = { names: [], folded: [], firsts: [] };
  await forEachYielding(inOrder, (wish) => {
    const folded = wish.folded.split('/');
    const { names, shared } = namesBeside(wish.path, folded, before.folded);
    const firsts = names.map(() => wish.at);
    for (let depth = wish.known; depth < shared; depth += 1) {
      const first = before.firsts[depth] ?? wish.at;
      if (first > wish.at) continue;
      firsts[depth] = first;
      names[depth] = before.names[depth] as string;
    }
    wish.path = names.join('/');
    before = { names, folded, firsts };
  });
  // From the back: the last path of a directory has the first of all of them.
  let after: { names: string[]; folded: string[] } = { names: [], folded: [] };
  await forEachYielding(inOrder.toReversed(), (wish) => {
    const folded = wish.folded.split('/');
    const { names, shared } = namesBeside(wish.path, folded, after.folded);
    for (let depth = wish.known; depth < shared; depth += 1) names[depth] = after.names[depth] as string;
    wish.path = names.join('/');
    after = { names, folded };
  });
  return all;
}

/** Texts in the order of their characters, sorted in steps. */
export const inTextOrder = (texts: readonly string[]): Promise<string[]> =>
  sortYielding(texts, (a, b) => (a < b ? -1 : Number(a > b)));

/** Where a text stands, or would stand, among texts in order. */
export function placeIn(inOrder: readonly string[], text: string): number {
  let [from, to] = [0, inOrder.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((inOrder[middle] ?? '') < text) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Finds whether some of the paths lie in a directory, by the order of their folded forms: all their directories would be dozens of times as many.
 * @returns a test of a folded path
 */
export async function directoriesOf(paths: readonly string[]): Promise<(folded: string) => boolean> {
  const inOrder = await inTextOrder(await mapYielding(paths, foldCase));
  return (folded) => {
    const start = `${folded}/`;
    return inOrder[placeIn(inOrder, start)]?.startsWith(start) ?? false;
  };
}

/** Gives each its path, or that with a hash before its extension where another has it already, or needs it as a directory. */
async function settle(wishes: readonly Wish[]): Promise<Map<string, string>> {
  const isDirectory = await directoriesOf([manifestPath, ...wishes.map(({ path }) => path)]);
  const taken = new Set([foldCase(manifestPath)]);
  const files = new Map<string, string>();
  await forEachYielding(wishes, ({ url, path }) => {
    const isFree = (folded: string) => !taken.has(folded) && !isDirectory(folded);
    let settled = path;
    for (let digits = 8; !isFree(foldCase(settled)); digits += 8)
      settled = withMark(path, `~${shortHash(url, digits)}`);
    taken.add(foldCase(settled));
    files.set(url, settled);
  });
  return files;
}

/**
 * Maps captured contents to files, in steps.
 * @param captured in the order in which they win: by host, then by URL
 * @param standing paths of earlier imports, whose directories keep their spelling
 */
export async function mapFiles(
  captured: readonly CapturedFile[],
  addresses: SiteAddresses,
  standing: readonly string[] = [],
): Promise<FileMap> {
  const winners = new Map<string, CapturedFile>();
  const collisions: string[] = [];
  await forEachYielding(captured, (file) => {
    const address = addresses.pathOf(new URL(file.url)) ?? '/';
    if (winners.has(address)) collisions.push(file.url);
    else winners.set(address, file);
  });
  const wishes: Wish[] = [];
  const shared: [url: string, with_: string][] = [];
  await forEachYielding(winners, ([address, file]) => {
    const place = new URL(address, 'http://site');
    const slash = place.search === '' && !place.pathname.endsWith('/') ? winners.get(`${address}/`) : undefined;
    const twin = slash && isHtml(slash) && isHtml(file) ? slash : undefined;
    if (twin?.sha256 === file.sha256 && !/\.x?html?$/i.test(place.pathname)) {
      shared.push([file.url, twin.url]);
      return;
    }
    const wished = wishedPath(file, place, twin !== undefined);
    const path = place.search === '' ? wished : withMark(wished, `~${shortHash(place.search.slice(1))}`);
    wishes.push({ url: file.url, path: bounded(besideManifest(path), file.url) });
  });
  const files = await settle(await withOneSpelling(wishes, standing));
  const owners = new Map([...files].map(([url, path]) => [path, url]));
  for (const [url, other] of shared) files.set(url, files.get(other) ?? '');
  return { files, owners, collisions };
}
