/**
 * Links of a text that lead to other files by a relative path: of Markdown, of elements, of imports in MDX, and of Hugo's `ref`. When files move,
 * links that would lead elsewhere are rewritten; all other bytes stay. Code is no link.
 */
import path from 'node:path';
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

/** Runs of backticks, each with the index of the next one of its length in the same paragraph. */
function codeSpans(text: string): [number, number][] {
  const runs: { at: number; length: number; paragraph: number }[] = [];
  let paragraph = 0;
  for (const { 0: found, index } of text.matchAll(/`+|\n[ \t]*(?=\n)/g)) {
    if (found.startsWith('`')) runs.push({ at: index, length: found.length, paragraph });
    else paragraph += 1;
  }
  const next = new Map<string, number>();
  const closing = runs.map(() => -1);
  for (let at = runs.length - 1; at >= 0; at--) {
    const key = `${runs[at]?.paragraph} ${runs[at]?.length}`;
    closing[at] = next.get(key) ?? -1;
    next.set(key, at);
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

const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** The text with its code as spaces, so that positions stay. */
function withoutCode(text: string): string {
  let fence = '';
  const lines = text.split('\n').map((line) => {
    const mark = /^[ \t>]{0,12}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence === '') {
      fence = mark;
      return mark === '' ? line : blank(line);
    }
    if (mark.startsWith(fence)) fence = '';
    return blank(line);
  });
  const masked = lines.join('\n');
  let done = '';
  let at = 0;
  for (const [from, to] of codeSpans(masked)) {
    done += masked.slice(at, from) + blank(masked.slice(from, to));
    at = to;
  }
  return done + masked.slice(at);
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

/** The text with its relative links leading where they led before the files moved. */
export function relink(text: string, moves: Moves): string {
  const visible = withoutCode(text);
  let done = '';
  let at = 0;
  let links = 0;
  for (const found of visible.matchAll(opener)) {
    if (found.index < at) continue;
    links += 1;
    if (links > mostLinks) return text;
    const { start, end, isBare } = destinationAfter(visible, found);
    if (end === start) continue;
    const link = renewed(text.slice(start, end), moves, { isRef: isRef(found[0]), mayHaveSpaces: !isBare });
    if (link === null) continue;
    done += text.slice(at, start) + link;
    at = end;
  }
  return done + text.slice(at);
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
