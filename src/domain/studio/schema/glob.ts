import { LRUCache } from 'lru-cache';
import { upTo } from '../../../lib/version-cache.ts';

/**
 * Globs of site configurations, matched in time proportional to pattern × path: they come from repositories, so they are never
 * turned into a backtracking RegExp.
 */
export interface Glob {
  /** @param steps the budget the comparison is taken from; absent: a new one, of all that one path may cost */
  matches(path: string, steps?: Steps): boolean;
  /** The directory before the first wildcard. */
  prefix: string;
}

/**
 * What one path may cost. A site of 200,000 files with a hundred ordinary globs takes some 50 steps for each; globs made for it take as many as
 * they have characters for each character of the path.
 */
const mostSteps = 20_000;

/** A budget of comparisons, of one character or one segment of a path with one part of a pattern. Beyond it nothing matches. */
export class Steps {
  left: number;

  constructor(left = mostSteps) {
    this.left = left;
  }

  get isOver(): boolean {
    return this.left < 0;
  }
}

type Atom = { kind: 'char'; value: string } | { kind: 'any' } | { kind: 'star' } | CharClass;
interface CharClass {
  kind: 'class';
  negated: boolean;
  ranges: [string, string][];
}

const MAX_ALTERNATIVES = 256;
/** Of all alternatives together, characters. */
const MAX_EXPANDED = 4_000;

/** `a.{b,c{d,e}}` → `a.b`, `a.cd`, `a.ce`; null when braces do not pair, or there are more than 256 alternatives, or longer ones than are compared. */
function expandBraces(pattern: string): string[] | null {
  let done: string[] = [];
  let open = [pattern];
  while (open.length > 0) {
    const next: string[] = [];
    for (const text of open) {
      const group = innermostBraces(text);
      if (group === null) return null;
      if (group === 'none') done.push(text);
      else for (const middle of group.parts) next.push(group.before + middle + group.after);
    }
    if (next.length + done.length > MAX_ALTERNATIVES) return null;
    open = next;
  }
  done = [...new Set(done)];
  return done.reduce((sum, { length }) => sum + length, 0) > MAX_EXPANDED ? null : done;
}

function innermostBraces(text: string): { before: string; parts: string[]; after: string } | 'none' | null {
  const close = text.indexOf('}');
  const open = close === -1 ? text.indexOf('{') : text.lastIndexOf('{', close);
  if (close === -1) return open === -1 ? 'none' : null;
  if (open === -1) return null;
  return { before: text.slice(0, open), parts: text.slice(open + 1, close).split(','), after: text.slice(close + 1) };
}

function parseSegment(text: string): Atom[] | null {
  const atoms: Atom[] = [];
  for (let at = 0; at < text.length; at++) {
    const value = text.charAt(at);
    if (value === '*') {
      if (atoms.at(-1)?.kind !== 'star') atoms.push({ kind: 'star' });
    } else if (value === '?') atoms.push({ kind: 'any' });
    else if (value === '[') {
      const close = text.indexOf(']', at + 2);
      if (close === -1) return null;
      atoms.push(parseClass(text.slice(at + 1, close)));
      at = close;
    } else if (value === '\\' && at + 1 < text.length) atoms.push({ kind: 'char', value: text.charAt(++at) });
    else atoms.push({ kind: 'char', value });
  }
  return atoms;
}

function parseClass(body: string): CharClass {
  const negated = body.startsWith('^') || body.startsWith('!');
  const text = negated ? body.slice(1) : body;
  const ranges: [string, string][] = [];
  for (let at = 0; at < text.length; at++) {
    const from = text.charAt(at);
    if (text.charAt(at + 1) === '-' && at + 2 < text.length) {
      ranges.push([from, text.charAt(at + 2)]);
      at += 2;
    } else ranges.push([from, from]);
  }
  return { kind: 'class', negated, ranges };
}

function fits(atom: Atom, char: string): boolean {
  if (atom.kind === 'char') return atom.value === char;
  if (atom.kind === 'class') return atom.ranges.some(([from, to]) => char >= from && char <= to) !== atom.negated;
  return true;
}

function segmentMatches(atoms: readonly Atom[], text: string, steps: Steps): boolean {
  // A wildcard does not match a hidden name unless the pattern names the dot.
  if (text.startsWith('.') && !(atoms[0]?.kind === 'char' && atoms[0].value === '.')) return false;
  let at = 0;
  let char = 0;
  let star = -1;
  let mark = 0;
  let { left } = steps;
  for (; char < text.length && left >= 0; left -= 1) {
    const atom = atoms[at];
    if (atom?.kind === 'star') {
      star = at++;
      mark = char;
    } else if (atom && fits(atom, text.charAt(char))) {
      at++;
      char++;
    } else if (star >= 0) {
      at = star + 1;
      char = ++mark;
    } else break;
  }
  steps.left = left;
  return left >= 0 && char === text.length && atoms.slice(at).every((atom) => atom.kind === 'star');
}

type Segments = (Atom[] | '**')[];

function pathMatches(pattern: Segments, path: readonly string[], steps: Steps): boolean {
  // reachable[j]: the pattern so far can have consumed j segments.
  let reachable = [true, ...path.map(() => false)];
  for (const segment of pattern) {
    steps.left -= reachable.length;
    if (steps.left < 0) return false;
    const next = reachable.map(() => false);
    for (let at = 0; at < next.length; at++) {
      if (segment === '**') {
        const through = at > 0 && next[at - 1] === true && !path[at - 1]?.startsWith('.');
        next[at] = reachable[at] === true || through;
      } else next[at] = at > 0 && reachable[at - 1] === true && segmentMatches(segment, path[at - 1] ?? '', steps);
    }
    reachable = next;
  }
  return reachable.at(-1) === true;
}

/** The same for a file name that may lie in any directory, as most collections have it: only the name has to be looked at closely. */
function fileMatches(name: readonly Atom[], path: string, steps: Steps): boolean {
  const slash = path.lastIndexOf('/');
  if (path.startsWith('.') ? slash !== -1 : path.lastIndexOf('/.', slash - 1) !== -1) return false;
  return segmentMatches(name, path.slice(slash + 1), steps);
}

/** The literal characters a segment ends in: most paths fail on these. */
function endingOf(segment: Segments[number] | undefined): string {
  let ending = '';
  for (const atom of (segment === '**' ? undefined : segment)?.toReversed() ?? []) {
    if (atom.kind !== 'char') break;
    ending = atom.value + ending;
  }
  return ending;
}

function compile(source: string): Glob | null {
  if (source.length > 1000) return null;
  const plain = source
    .replace(/^(\.\/)+/, '')
    .replace(/@\(([^()]*)\)/g, (_, inner: string) => `{${inner.replaceAll('|', ',')}}`);
  if (/[!+*?@]\(/.test(plain)) return null;
  const alternatives = expandBraces(plain);
  if (alternatives === null) return null;
  const compiled: { ending: string; matches(path: string, steps: Steps): boolean }[] = [];
  for (const alternative of alternatives) {
    const segments: Segments = [];
    for (const part of alternative.split('/')) {
      if (part === '.' || part === '') continue;
      const atoms = part === '**' ? '**' : parseSegment(part);
      if (atoms === null || part === '..') return null;
      segments.push(atoms);
    }
    const [first, name, ...more] = segments;
    const anywhere = first === '**' && name !== undefined && name !== '**' && more.length === 0;
    const matches = (path: string, steps: Steps) =>
      anywhere ? fileMatches(name, path, steps) : pathMatches(segments, path.split('/'), steps);
    compiled.push({ matches, ending: endingOf(segments.at(-1)) });
  }
  const fixed = plain.split('/');
  const wild = fixed.findIndex((part) => /[*?[\]{}\\]/.test(part));
  return {
    prefix: fixed.slice(0, wild === -1 ? -1 : wild).join('/'),
    matches(path, steps = new Steps()) {
      // Each that is looked at counts, too: a list may be of any length.
      steps.left -= compiled.length;
      return !steps.isOver && compiled.some(({ matches, ending }) => path.endsWith(ending) && matches(path, steps));
    },
  };
}

/** Rules are compared with one path after the other, and not all of them keep what was compiled. */
const known = new LRUCache<string, { glob: Glob | null }>(upTo(1_000));

/**
 * Compiles one glob: `*`, `?`, `[a-z]`, `[^_]`, `{a,b}`, `@(a|b)` and `**`.
 * @returns null for what is not understood (other extended globs, unpaired brackets), so that callers do not guess
 */
export function compileGlob(source: string): Glob | null {
  const found = known.get(source) ?? { glob: compile(source) };
  known.set(source, found);
  return found.glob;
}
