/**
 * Links of a text that lead to other files by a relative path: of Markdown, of elements, of imports in MDX, and of Hugo's `ref`. When files move,
 * links that would lead elsewhere are rewritten; all other bytes stay. Code is no link.
 */
import path from 'node:path';
import { Pace } from '../../../lib/concurrency.ts';
import { decodedUri } from '../../../lib/text.ts';
import { pathBytes } from '../path-rules.ts';

/** What stands before a destination. */
const opener = /\]\(|\]:[ \t]|\b(?:src|href|poster)=|\bfrom[ \t]|\brequire\(|\b(?:rel)?ref[ \t]/g;
// What ends a destination ends it before the next opener of its kind: all of a text together are looked through once.
const markdownDestination = /[ \t]{0,100}(?:<([^<>\n]*)>|([^\s<>()"']+))/dy;
const quotedDestination = /[ \t]{0,100}(?:"([^"\n]*)"|'([^'\n]*)')/dy;
const isRef = (mark: string) => /^(?:rel)?ref[ \t]$/.test(mark);
const isMarkdown = (mark: string) => mark.startsWith(']');

/** Where a destination begins and ends that stands after an opener; the same twice without one. */
function destinationAfter(
  text: string,
  { 0: mark, index }: RegExpExecArray,
): { start: number; end: number; isBare: boolean } {
  const destination = isMarkdown(mark) ? markdownDestination : quotedDestination;
  destination.lastIndex = index + mark.length;
  const { indices } = destination.exec(text) ?? {};
  const [start, end] = indices?.[1] ?? indices?.[2] ?? [0, 0];
  return { start, end, isBare: isMarkdown(mark) && indices?.[1] === undefined };
}

/** A paragraph with more runs of backticks counts as code: to pair them takes a microsecond each. */
const mostRuns = 50_000;

/** Spans of code in a paragraph, as begin and end: a run of backticks up to the next one of its length. */
function codeSpans(paragraph: string): [number, number][] {
  const runs: { at: number; length: number }[] = [];
  for (const { 0: run, index } of paragraph.matchAll(/`+/g)) {
    if (runs.length === mostRuns) return [[0, paragraph.length]];
    runs.push({ at: index, length: run.length });
  }
  const next = new Map<number, number>();
  const closing = runs.map(() => -1);
  for (let at = runs.length - 1; at >= 0; at--) {
    const length = runs[at]?.length ?? 0;
    closing[at] = next.get(length) ?? -1;
    next.set(length, at);
  }
  const spans: [number, number][] = [];
  for (let at = 0; at < runs.length; at++) {
    const end = closing[at] ?? -1;
    const [from, to] = [runs[at], runs[end]];
    if (!from || !to) continue;
    spans.push([from.at, to.at + to.length]);
    at = end;
  }
  return spans;
}

/** A paragraph with its spans of code as spaces, so that positions stay: no link has a line break within. */
function withoutSpans(paragraph: string): string {
  let done = '';
  let at = 0;
  for (const [from, to] of codeSpans(paragraph)) {
    done += paragraph.slice(at, from) + ' '.repeat(to - from);
    at = to;
  }
  return done + paragraph.slice(at);
}

/** Paragraphs of a text, with their positions. Lines of fenced code and lines without text come as empty ones, so that no step is long. */
function* paragraphsOf(text: string): Generator<{ start: number; paragraph: string }> {
  let fence = '';
  let start = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const next = end === -1 ? text.length : end + 1;
    const line = text.slice(at, next);
    const mark = /^[ \t>]{0,12}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence !== '' || mark !== '' || line.trim() === '') {
      yield { start, paragraph: text.slice(start, at) };
      start = next;
    }
    if (fence === '') fence = mark;
    else if (mark.startsWith(fence)) fence = '';
    at = next;
  }
  yield { start, paragraph: text.slice(start) };
}

/** Where files were and are, as links see it. */
export interface Moves {
  /** The text's own file before and after. */
  from: string;
  to: string;
  /** New paths of files that moved, by their old ones. */
  moved: ReadonlyMap<string, string>;
  /** Whether there was a file at a path before. */
  existed(path: string): boolean;
}

const leadsAway = /^(?:[a-z][a-z0-9+.-]*:|[/\\#?~@$]|$)/i;
const isRelative = (link: string) => link.length <= pathBytes && !leadsAway.test(link);
/** A value of metadata that names a file. */
const namesFile = (value: string) => /\.[a-z0-9]+$/i.test(value);
/** What Hugo completes a reference by. */
const completions = ['', '.md', '/index.md', '/_index.md'];

/** How a link has to be written to lead where it led; null: as it is. */
function renewed(
  raw: string,
  { from, to, moved, existed }: Moves,
  options: { isRef: boolean; mayHaveSpaces: boolean },
) {
  if (!isRelative(raw)) return null;
  const [written = ''] = /^[^?#]*/.exec(raw) ?? [];
  const rest = raw.slice(written.length);
  const plain = decodedUri(written);
  const old = path.posix.join(path.posix.dirname(from), plain);
  const completion = (options.isRef ? completions : ['']).find((end) => existed(old + end));
  if (completion === undefined) return null;
  const before = old + completion;
  const target = moved.get(before) ?? before;
  if (path.posix.join(path.posix.dirname(to), plain) + completion === target) return null;
  const whole = path.posix.relative(path.posix.dirname(to), target);
  // A file that has got another name in a way the completion does not know is named whole.
  const relative = completion !== '' && whole.endsWith(completion) ? whole.slice(0, -completion.length) : whole;
  const marked = /^\.\.?\//.test(written) && !relative.startsWith('.') ? `./${relative}` : relative;
  const isEncoded = plain !== written || (/[\s()]/.test(marked) && !options.mayHaveSpaces);
  return (isEncoded ? encodeURI(marked).replace(/[()]/g, (one) => (one === '(' ? '%28' : '%29')) : marked) + rest;
}

/** A text with more links keeps them as they are: to look where each leads takes a microsecond. */
const mostLinks = 50_000;

/** The text with its relative links leading where they led before the files moved, made in steps. */
export async function relink(text: string, moves: Moves): Promise<string> {
  let done = '';
  let kept = 0;
  let links = 0;
  const pace = new Pace();
  for (const { start, paragraph } of paragraphsOf(text)) {
    if (pace.isDue) await pace.yield();
    const visible = withoutSpans(paragraph);
    let at = 0;
    for (const found of visible.matchAll(opener)) {
      if (pace.isDue) await pace.yield();
      if (found.index < at) continue;
      links += 1;
      if (links > mostLinks) return text;
      const place = destinationAfter(visible, found);
      if (place.end === place.start) continue;
      const raw = paragraph.slice(place.start, place.end);
      const link = renewed(raw, moves, { isRef: isRef(found[0]), mayHaveSpaces: !place.isBare });
      if (link === null) continue;
      at = place.end;
      done += text.slice(kept, start + place.start) + link;
      kept = start + place.end;
    }
  }
  return done + text.slice(kept);
}

/** A value of metadata with the relative paths of files in it leading where they led; a text that names no file stays. */
export function relinkValue(value: unknown, moves: Moves): unknown {
  if (typeof value === 'string')
    return namesFile(value) ? (renewed(value, moves, { isRef: false, mayHaveSpaces: true }) ?? value) : value;
  if (Array.isArray(value)) return value.map((one) => relinkValue(one, moves));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, relinkValue(one, moves)]));
}

/** Whether `relink` can have something to do in a text. What stands in code counts too: it costs more to leave it out. */
export function hasRelativeLink(text: string): boolean {
  let links = 0;
  for (const found of text.matchAll(opener)) {
    const { start, end } = destinationAfter(text, found);
    links += 1;
    if (links > mostLinks || isRelative(text.slice(start, end))) return true;
  }
  return false;
}

/** The same of `relinkValue`. */
export function hasRelativeValue(value: unknown): boolean {
  if (typeof value === 'string') return namesFile(value) && isRelative(value);
  return value !== null && typeof value === 'object' && Object.values(value).some(hasRelativeValue);
}
