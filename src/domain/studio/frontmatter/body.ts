import { fieldError } from '../../errors.ts';
import { eolOf, joinSplit, type Split, splitFile } from './split.ts';
import type { FrontmatterFormat } from './types.ts';

/**
 * Puts a body into a file by the body law: it is read back unchanged, whatever it begins with. Only a file that is wholly
 * CRLF turns the line ends of an LF-only body into its own.
 *
 * @throws DomainError `validation_failed` for a body in a data file, or one that is not valid Unicode.
 */
export function withBody(split: Split, wanted: string, path: string): Split {
  if (split.kind === 'data') {
    if (wanted !== '') throw fieldError('validation_failed', 'body', 'a data file has no body');
    return split;
  }
  if (!wanted.isWellFormed())
    throw fieldError('validation_failed', 'body', 'holds half a surrogate pair, which UTF-8 cannot store');
  const whole = joinSplit(split);
  const crlf = eolOf(whole) === 'crlf';
  const body = crlf && !wanted.includes('\r\n') ? wanted.replaceAll('\n', '\r\n') : wanted;
  if (body === split.body) return split;
  const eol = crlf ? '\r\n' : '\n';
  const written: Split = { ...split, body };
  if (split.format !== 'none') {
    if (body !== '' && !/\n$/.test(split.close)) written.close = split.close + eol;
    if (split.gap === '' && /^\r?\n/.test(body)) written.gap = eol;
    return written;
  }
  const read = splitFile(joinSplit(written), path);
  const readsBack = read.format === 'none' && read.body === body && read.bom === split.bom;
  return readsBack ? written : withBlock(written, 'yaml', '', eol); // the empty block keeps the body from being read as one
}

const delimiters: Record<Exclude<FrontmatterFormat, 'none'>, string> = { yaml: '---', toml: '+++', json: '' };

/** Gives a file without a block one, with its gap. `source` ends in a line end or is empty; JSON stands without delimiters. */
export function withBlock(
  split: Split,
  format: Exclude<FrontmatterFormat, 'none'>,
  source: string,
  eol: string,
): Split {
  const mark = delimiters[format];
  const open = mark === '' ? '' : mark + eol;
  const inner = format === 'json' ? source.trimEnd() : source; // the line end behind its `}` closes the block
  return { ...split, format, open, source: inner, close: mark + eol, gap: eol };
}
