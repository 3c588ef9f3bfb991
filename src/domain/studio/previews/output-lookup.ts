import type { ManifestEntry } from '../deployments/manifest.ts';
import { matchRedirect, type RedirectRule } from './redirects.ts';
import { parseRequestPath, type RequestPath } from './request-path.ts';

/** A published output, ready to be asked. */
export interface Output {
  files: ReadonlyMap<string, ManifestEntry>;
  /** Those that hold even where there is a file. */
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
    const at = parseRequestPath(to.replace(/[?#].*$/, ''));
    const hit = at && fileAt(output, at.path);
    return hit && 'entry' in hit ? { kind: 'file', entry: hit.entry, status: rule.status } : null;
  }
  // A rule that leads to where it was found would never end.
  if (to === raw) return null;
  const location = asHeader(query !== '' && !/[?#]/.test(to) ? to + query : to);
  return { kind: 'redirect', status: rule.status, location };
}

/** A file that pages of the output before this one may still ask for: an exact one, and no page. */
function leftBehind(previous: Output | null, path: string): ManifestEntry | null {
  const entry = previous?.files.get(path);
  return entry && entry[3] !== 'text/html' ? entry : null;
}

/**
 * Finds what a request target stands for in an output. Only names of its manifest can be found, so no path leads out of it.
 *
 * @param previous the output that was published here until a moment ago
 */
export function lookUp(output: Output, target: string, previous: Output | null = null): Found {
  const request = parseRequestPath(target);
  if (request === null) return notFound(output);
  const forced = output.forced.length > 0 ? redirected(output, output.forced, request) : null;
  if (forced) return forced;
  const hit = fileAt(output, request.path);
  if (hit && 'entry' in hit) return { kind: 'file', entry: hit.entry, status: 200 };
  if (hit) return { kind: 'redirect', status: 308, location: asHeader(`${request.raw}/${request.query}`) };
  const old = leftBehind(previous, request.path);
  if (old) return { kind: 'file', entry: old, status: 200 };
  return redirected(output, output.redirects, request) ?? notFound(output);
}

function notFound({ files }: Output): Found {
  const page = files.get('404.html');
  return page ? { kind: 'file', entry: page, status: 404 } : { kind: 'nothing' };
}
