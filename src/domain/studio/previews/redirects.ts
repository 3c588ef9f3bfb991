/** One line of a `_redirects` file. */
export interface RedirectRule {
  /** Segments of the path it is for, decoded; `:name` takes one, a last `*` all that are left. */
  from: readonly string[];
  to: string;
  /** 301, 302, 303, 307, 308; 200 and 404 send the file at `to` in place of a redirect. */
  status: number;
  /** It holds even where there is a file (`!` after the status). */
  isForced: boolean;
}

/** A line that is not used, and why. */
export interface RedirectFault {
  /** Counts from 1; null: the whole file. */
  line: number | null;
  problem: string;
}

const mostRules = 2000;
const statuses = [200, 301, 302, 303, 307, 308, 404];

const segmentsOf = (path: string) => path.split('/').filter((segment) => segment !== '');

/** Segments of a rule's path, or what is wrong with it. */
function parseFrom(from: string): readonly string[] | string {
  if (!from.startsWith('/')) return 'must start with a path of this site';
  if (from.includes('?')) return 'must not look at the query';
  const segments = segmentsOf(from);
  if (segments.some((segment, index) => segment.includes('*') && (segment !== '*' || index < segments.length - 1)))
    return 'may have * only as the last segment';
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return 'must be percent-encoded in UTF-8';
  }
}

function destinationProblem(to: string, status: number): string | null {
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
  const segments = parseFrom(from);
  if (typeof segments === 'string') return `the path ${segments}`;
  const problem = destinationProblem(to, status);
  return problem === null ? { from: segments, to, status, isForced: mark === '!' } : `where it leads ${problem}`;
}

/** Reads a `_redirects` file: a rule to a line, `#` begins a comment. What is not understood is left out and named. */
export function parseRedirects(text: string): { rules: RedirectRule[]; faults: RedirectFault[] } {
  const rules: RedirectRule[] = [];
  const faults: RedirectFault[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const words = line
      .replace(/(^|\s)#.*$/, '')
      .split(/\s+/)
      .filter(Boolean);
    if (words.length === 0) continue;
    const rule = rules.length < mostRules ? parseLine(words) : `only the first ${mostRules} rules count`;
    if (typeof rule === 'string') faults.push({ line: index + 1, problem: rule });
    else rules.push(rule);
  }
  return { rules, faults };
}

/** What the placeholders of a rule stand for in a path, percent-encoded; null when the rule is not for it. */
function bind({ from }: RedirectRule, segments: readonly string[]): Map<string, string> | null {
  const values = new Map<string, string>();
  for (const [index, pattern] of from.entries()) {
    if (pattern === '*') return values.set('splat', segments.slice(index).map(encodeURIComponent).join('/'));
    const segment = segments[index];
    if (segment === undefined) return null;
    if (/^:\w+$/.test(pattern)) values.set(pattern.slice(1), encodeURIComponent(segment));
    else if (pattern !== segment) return null;
  }
  return segments.length === from.length ? values : null;
}

/**
 * The first rule that is for a path, and where it leads with its placeholders filled in. A path stays one of this site.
 * @param path decoded, without the first slash; a last slash makes no difference
 */
export function matchRedirect(rules: readonly RedirectRule[], path: string): { rule: RedirectRule; to: string } | null {
  const segments = segmentsOf(path);
  for (const rule of rules) {
    const values = bind(rule, segments);
    if (values === null) continue;
    const filled = rule.to.replace(/:([A-Za-z_]\w*)/g, (whole, name: string) => values.get(name) ?? whole);
    // An empty value must not leave `//host` behind, which browsers take for another site.
    return { rule, to: rule.to.startsWith('/') ? filled.replace(/^\/+/, '/') : filled };
  }
  return null;
}
