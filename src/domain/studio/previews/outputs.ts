import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import type { BlobStore, Sha256 } from '../../../ports/blobs.ts';
import { type Manifest, type ManifestEntry, readManifest } from '../deployments/manifest.ts';
import { parseRequestPath, type RequestPath } from './request-path.ts';

/** One line of a `_redirects` file. */
interface RedirectRule {
  /** Segments of the path it is for: a text, decoded, or what stands for any one, by its name. */
  from: readonly (string | { name: string })[];
  /** It is for all paths below, too (a last `*`). */
  isOpen: boolean;
  to: string;
  /** 301, 302, 303, 307, 308; 200 and 404 send the file at `to` in place of a redirect. */
  status: number;
  /** It holds even where there is a file (`!` after the status). */
  isForced: boolean;
}

/** A line that is not used, and why. */
interface RedirectFault {
  /** Counts from 1; null: the whole file. */
  line: number | null;
  problem: string;
}

const mostRules = 2000;
/** A longer target leads nowhere: clients and proxies take no longer header; characters. */
const longestTarget = 8_192;
const statuses = [200, 301, 302, 303, 307, 308, 404];

const segmentsOf = (path: string) => path.split('/').filter((segment) => segment !== '');

/** What paths a rule is for, or what is wrong with that. */
function parseFrom(from: string): Pick<RedirectRule, 'from' | 'isOpen'> | string {
  if (!from.startsWith('/')) return 'must start with a path of this site';
  if (from.includes('?')) return 'must not look at the query';
  const segments = segmentsOf(from);
  if (segments.some((segment, index) => segment.includes('*') && (segment !== '*' || index < segments.length - 1)))
    return 'may have * only as the last segment';
  try {
    const isOpen = segments.at(-1) === '*';
    const read = (segment: string) => (/^:\w+$/.test(segment) ? { name: segment.slice(1) } : segment);
    return { from: segments.slice(0, isOpen ? -1 : undefined).map((one) => read(decodeURIComponent(one))), isOpen };
  } catch {
    return 'must be percent-encoded in UTF-8';
  }
}

function destinationProblem(to: string, status: number): string | null {
  if (to.length > longestTarget) return `must have at most ${longestTarget} characters`;
  if (to.includes('\\')) return 'must not contain a backslash';
  if (to.startsWith('/') && !to.startsWith('//')) return null;
  if (status === 200 || status === 404) return 'must be a path of the same output';
  return /^https?:\/\//.test(to) && URL.canParse(to) ? null : 'must be a path or an http or https URL';
}

/** A rule, or what is wrong with its line. */
function parseLine(words: readonly string[]): RedirectRule | string {
  const [from = '', to, given = '301', ...rest] = words;
  if (to === undefined) return 'needs a path and where it leads';
  const [, digits, mark] = /^(\d{3})(!?)$/.exec(given) ?? [];
  if (rest.length > 0 || digits === undefined)
    return 'conditions are not supported: only a path, where it leads and a status';
  const status = Number(digits);
  if (!statuses.includes(status)) return `the status must be one of ${statuses.join(', ')}`;
  const paths = parseFrom(from);
  if (typeof paths === 'string') return `the path ${paths}`;
  const problem = destinationProblem(to, status);
  return problem === null ? { ...paths, to, status, isForced: mark === '!' } : `where it leads ${problem}`;
}

/** Reads a `_redirects` file: a rule to a line, `#` begins a comment. What is not understood is left out and named. */
export function parseRedirects(text: string): { rules: RedirectRule[]; faults: RedirectFault[] } {
  const rules: RedirectRule[] = [];
  const faults: RedirectFault[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const words = line
      .replace(/(^|\s)#.*/s, '')
      .split(/\s+/)
      .filter(Boolean);
    if (words.length === 0) continue;
    const rule = rules.length < mostRules ? parseLine(words) : `only the first ${mostRules} rules count`;
    if (typeof rule === 'string') faults.push({ line: index + 1, problem: rule });
    else rules.push(rule);
  }
  return { rules, faults };
}

function isFor({ from, isOpen }: RedirectRule, segments: readonly string[]): boolean {
  if (isOpen ? segments.length < from.length : segments.length !== from.length) return false;
  return from.every((pattern, index) => typeof pattern !== 'string' || pattern === segments[index]);
}

/** What the placeholders of a rule stand for in a path it is for, percent-encoded. */
function bind({ from, isOpen }: RedirectRule, segments: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const [index, pattern] of from.entries())
    if (typeof pattern !== 'string') values.set(pattern.name, encodeURIComponent(segments[index] ?? ''));
  if (isOpen) values.set('splat', segments.slice(from.length).map(encodeURIComponent).join('/'));
  return values;
}

/** Fills the placeholders of a target; null as soon as it is too long, since a rule may name the same one thousands of times. */
function fillTarget(to: string, values: ReadonlyMap<string, string>): string | null {
  let filled = '';
  for (const piece of to.split(/(:[A-Za-z_]\w*)/)) {
    filled += (piece.startsWith(':') ? values.get(piece.slice(1)) : undefined) ?? piece;
    if (filled.length > longestTarget) return null;
  }
  return filled;
}

/**
 * The first rule that is for a path, and where it leads with its placeholders filled in; null also when that is too long. A path stays one of this
 * site.
 * @param path decoded, without the first slash; a last slash makes no difference
 */
function matchRedirect(rules: readonly RedirectRule[], path: string): { rule: RedirectRule; to: string } | null {
  const segments = segmentsOf(path);
  // There may be thousands, each of hundreds of segments: values are made for the one that is taken.
  const rule = rules.find((one) => isFor(one, segments));
  if (!rule) return null;
  const filled = fillTarget(rule.to, bind(rule, segments));
  if (filled === null) return null;
  // An empty value must not leave `//host` behind, which browsers take for another site.
  return { rule, to: rule.to.startsWith('/') ? filled.replace(/^\/+/, '/') : filled };
}

/** A longer `_redirects` is none; bytes. */
const longest = 1024 * 1024;

/** The rules of an output's `_redirects` file, and what of it is not used; no rules when there is no such file. */
export async function readRedirects(blobs: BlobStore, manifest: Manifest): Promise<ReturnType<typeof parseRedirects>> {
  const file = manifest.find(([path]) => path === '_redirects');
  if (!file) return { rules: [], faults: [] };
  const [, sha256, size] = file;
  if (size > longest) return { rules: [], faults: [{ line: null, problem: 'it is larger than 1 MiB' }] };
  return parseRedirects((await buffer(blobs.read(sha256))).toString('utf8'));
}

/** A published output, ready for look-ups. */
export interface Output {
  files: ReadonlyMap<string, ManifestEntry>;
  /** Rules that apply even where there is a file. */
  forced: readonly RedirectRule[];
  redirects: readonly RedirectRule[];
}

export type Found =
  | { kind: 'file'; entry: ManifestEntry; status: 200 | 404 }
  /** `location` is a path of the same site or an absolute URL, ready for the header. */
  | { kind: 'redirect'; status: number; location: string }
  | { kind: 'nothing' };

type Hit = { entry: ManifestEntry } | { slash: true } | null;

/** The file of a path, by the rules of clean URLs; `slash` when it lies at the same path with a slash. */
function fileAt({ files }: Output, path: string): Hit {
  if (path === '' || path.endsWith('/')) {
    const index = files.get(`${path}index.html`);
    return index ? { entry: index } : null;
  }
  const entry = files.get(path) ?? files.get(`${path}.html`);
  if (entry) return { entry };
  return files.has(`${path}/index.html`) ? { slash: true } : null;
}

/** A header may hold no more than visible ASCII (RFC 9110 5.5). */
const asHeader = (location: string) => location.replace(/[^!-~]+/gu, (text) => encodeURIComponent(text));

function redirected(output: Output, rules: readonly RedirectRule[], { raw, path, query }: RequestPath): Found | null {
  const match = matchRedirect(rules, path);
  if (match === null) return null;
  const { rule, to } = match;
  if (rule.status === 200 || rule.status === 404) {
    const at = parseRequestPath(to.replace(/[?#].*/s, ''));
    const hit = at && fileAt(output, at.path);
    return hit && 'entry' in hit ? { kind: 'file', entry: hit.entry, status: rule.status } : null;
  }
  // A rule that leads to where it was found would never end.
  if (to === raw) return null;
  const target = query !== '' && !/[?#]/.test(to) ? to + query : to;
  if (target.length > longestTarget) return null;
  const location = asHeader(target);
  return location.length > longestTarget ? null : { kind: 'redirect', status: rule.status, location };
}

/** A file that pages of the output before this one may still ask for: an exact one, and no page. */
function leftBehind(previous: Output | null, path: string): ManifestEntry | null {
  const entry = previous?.files.get(path);
  return entry && entry[3] !== 'text/html' ? entry : null;
}

interface LookUpOptions {
  /** Path that the pages take the site to lie below, decoded, such as `/docs`: what is not found as it is named is looked for without it. */
  base?: string;
  /** The output that was published here until a moment ago. */
  previous?: Output | null;
}

/** A path without the base; null when it does not lie below it. Both without the first slash. */
function belowBase(path: string, base: string): string | null {
  if (base === '') return null;
  return path.startsWith(`${base}/`) ? path.slice(base.length + 1) : null;
}

/** Finds what a request target stands for in an output. Only names of its manifest can be found, so no path leads out of it. */
export function lookUp(output: Output, target: string, { base = '', previous = null }: LookUpOptions = {}): Found {
  const request = parseRequestPath(target);
  if (request === null) return notFound(output);
  const forced = output.forced.length > 0 ? redirected(output, output.forced, request) : null;
  if (forced) return forced;
  const root = base.replace(/^\/+/, '');
  // As on the site itself: at its own root there is nothing.
  if (root !== '' && (request.path === '' || request.path === root) && fileAt(output, ''))
    return { kind: 'redirect', status: 308, location: asHeader(`/${encodeURI(root)}/${request.query}`) };
  const below = belowBase(request.path, root);
  const hit = fileAt(output, request.path) ?? (below === null ? null : fileAt(output, below));
  if (hit && 'entry' in hit) return { kind: 'file', entry: hit.entry, status: 200 };
  if (hit) return { kind: 'redirect', status: 308, location: asHeader(`${request.raw}/${request.query}`) };
  const old = leftBehind(previous, request.path) ?? (below === null ? null : leftBehind(previous, below));
  if (old) return { kind: 'file', entry: old, status: 200 };
  return redirected(output, output.redirects, request) ?? notFound(output);
}

function notFound({ files }: Output): Found {
  const page = files.get('404.html');
  return page ? { kind: 'file', entry: page, status: 404 } : { kind: 'nothing' };
}

/** Files of all outputs held together, about 100 MB: one of a path of thousands of characters counts as several. */
const mostFiles = 400_000;
function weightOf({ files }: Output): number {
  let weight = 1;
  for (const path of files.keys()) weight += 1 + Math.floor(path.length / 256);
  return weight;
}

/** Published outputs by the hash of their manifest, the recent ones in memory. */
export class Outputs {
  readonly #cache: LRUCache<Sha256, Output>;

  constructor(blobs: BlobStore, most = mostFiles) {
    this.#cache = new LRUCache({
      maxSize: most,
      maxEntrySize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: (output) => Math.min(weightOf(output), most),
      fetchMethod: (sha256) => load(blobs, sha256),
    });
  }

  /** @throws DomainError `not_found` when the manifest is not kept any more */
  async get(sha256: Sha256): Promise<Output> {
    return this.#cache.get(sha256) ?? (await this.#cache.forceFetch(sha256));
  }
}

async function load(blobs: BlobStore, sha256: Sha256): Promise<Output> {
  const manifest = await readManifest(blobs, sha256);
  const files = new Map(manifest.map((entry) => [entry[0], entry]));
  // Unused rules are among the deployment's warnings.
  const { rules } = await readRedirects(blobs, manifest);
  return {
    files,
    forced: rules.filter(({ isForced }) => isForced),
    redirects: rules.filter(({ isForced }) => !isForced),
  };
}
