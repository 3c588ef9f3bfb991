import { eolOf } from '../frontmatter/split.ts';
import type { Eol } from '../frontmatter/types.ts';

/** Gives a text the line ends of another; `mixed` and a text of one line demand nothing. */
export function withLineEnds(text: string, eol: Eol): string {
  if (eol === 'mixed' || !text.includes('\n') || eolOf(text) === eol) return text;
  const lines = text.replaceAll('\r\n', '\n');
  return eol === 'crlf' ? lines.replaceAll('\n', '\r\n') : lines;
}

/** The line ends a merge shall write: those of the text as stored. */
export function wantedEol(current: string): Eol {
  return current.includes('\n') ? eolOf(current) : 'mixed';
}
