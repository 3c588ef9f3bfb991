import { extname } from 'node:path';
import { scanJsonObject } from './json.ts';
import type { Eol, FileKind, FrontmatterFormat } from './values.ts';

/** The parts of a file; joined in this order they are the file again. */
export interface Split {
  kind: FileKind;
  format: FrontmatterFormat;
  bom: string;
  /** Blank lines before the block, and the opening delimiter's line with its line end; or empty. */
  open: string;
  /** Source text of the frontmatter. */
  source: string;
  /** The closing delimiter's line with its line end, when it has one. */
  close: string;
  gap: string;
  body: string;
}

/** Where the body of a file begins: its line, from 1, and its offset. */
export function bodyPlace({ bom, open, source, close, gap }: Split): { line: number; offset: number } {
  const head = bom + open + source + close + gap;
  return { line: head.split('\n').length, offset: head.length };
}

const dataFormats: Record<string, FrontmatterFormat> = {
  '.yml': 'yaml',
  '.yaml': 'yaml',
  '.json': 'json',
  '.toml': 'toml',
};

/** The format of a data file, from its path or its bare extension; undefined for a content file. */
export function dataFormat(path: string): FrontmatterFormat | undefined {
  const extension = extname(path) || `.${path.replace(/^.*[./]/, '')}`;
  return dataFormats[extension.toLowerCase()];
}

const openings: [RegExp, RegExp, Exclude<FrontmatterFormat, 'none'>][] = [
  [/^---[ \t]*\r?\n/, /^(?:---|\.\.\.)[ \t]*(?:\r?\n|(?![\s\S]))/m, 'yaml'],
  [/^\+\+\+[ \t]*\r?\n/, /^\+\+\+[ \t]*(?:\r?\n|(?![\s\S]))/m, 'toml'],
  [/^;;;[ \t]*\r?\n/, /^;;;[ \t]*(?:\r?\n|(?![\s\S]))/m, 'json'],
];

/** What the first line of a block, comments apart, begins with when it holds keys: two rules of Markdown can look like delimiters. */
const firstKey: Record<Exclude<FrontmatterFormat, 'none'>, RegExp> = {
  yaml: /^(?:(?:"[^"\n]*"|'[^'\n]*')[ \t]*|[^\s#"'\-[\]{}>|*&!%@`][^\n:]*):(?:\s|$)/,
  toml: /^[ \t]*(?:\[|["'\w-][^=\n]*=)/,
  json: /^\s*\{/,
};

/** What follows blank lines and comments. A loop: a pattern that repeats a line keeps each on a stack of its own, which five million overflow. */
function withoutComments(source: string): string {
  let at = 0;
  for (let end = source.indexOf('\n'); end !== -1; end = source.indexOf('\n', at)) {
    if (!/^[ \t]*(?:#.*)?\r?$/.test(source.slice(at, end))) break;
    at = end + 1;
  }
  return source.slice(at);
}

/**
 * Cuts a file into its parts. A block counts only when it is closed, and from the first byte (after a BOM), or after blank lines when it
 * holds keys: so Hugo and Astro read it, and no site means anything else by it.
 */
export function splitFile(text: string, path: string): Split {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  const rest = text.slice(bom.length);
  const data = dataFormat(path);
  if (data !== undefined) return parts('data', data, bom, '', rest, '', '');
  const blank = /^[ \t\r\n]*\n/.exec(rest)?.[0] ?? '';
  const begun = rest.slice(blank.length);
  for (const [opening, closing, format] of openings) {
    const open = opening.exec(begun)?.[0];
    if (open === undefined) continue;
    const inner = begun.slice(open.length);
    const close = closing.exec(inner);
    if (close === null) break;
    const source = inner.slice(0, close.index);
    if (blank !== '' && !firstKey[format].test(withoutComments(source))) break;
    const after = inner.slice(close.index + close[0].length);
    return parts('content', format, bom, blank + open, source, close[0], after);
  }
  return splitBareJson(begun, bom, blank) ?? parts('content', 'none', bom, '', '', '', rest);
}

/** `{` at the beginning is JSON only when a name or `}` follows: a `{…}` expression may begin an MDX file. */
function splitBareJson(rest: string, bom: string, blank: string): Split | undefined {
  if (!/^\{\s*(?:"(?:[^"\\\n]|\\.)*"\s*:|\})/.test(rest)) return undefined;
  const end = scanJsonObject(rest) ?? rest.length;
  const close = /^[ \t]*(?:\r?\n|(?![\s\S]))/.exec(rest.slice(end))?.[0];
  if (close === undefined) return undefined;
  return parts('content', 'json', bom, blank, rest.slice(0, end), close, rest.slice(end + close.length));
}

function parts(
  kind: FileKind,
  format: FrontmatterFormat,
  bom: string,
  open: string,
  source: string,
  close: string,
  after: string,
): Split {
  const gap = format === 'none' || kind === 'data' ? '' : (/^\r?\n/.exec(after)?.[0] ?? '');
  return { kind, format, bom, open, source, close, gap, body: after.slice(gap.length) };
}

export function joinSplit(split: Split): string {
  return split.bom + split.open + split.source + split.close + split.gap + split.body;
}

/** The line ends of a whole file. */
export function eolOf(text: string): Eol {
  let crlf = 0;
  for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n', at + 2)) crlf++;
  if (crlf === 0) return 'lf';
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    if (text[at - 1] !== '\r') return 'mixed';
  }
  return 'crlf';
}

/** The line end to write where the text itself does not decide: that of its first line. */
export function lineEnd(text: string): '\n' | '\r\n' {
  const at = text.indexOf('\n');
  return at > 0 && text[at - 1] === '\r' ? '\r\n' : '\n';
}
