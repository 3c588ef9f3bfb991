import { check } from './limits.ts';

const code = {
  newline: 0x0a,
  return: 0x0d,
  quote: 0x22,
  hash: 0x23,
  openRound: 0x28,
  closeRound: 0x29,
  open: 0x5b,
  backslash: 0x5c,
  close: 0x5d,
  openCurly: 0x7b,
  closeCurly: 0x7d,
};

const isBreak = (at: number) => at === code.newline || at === code.return;

/** The first offset at or behind `at` where a line ends. */
function lineEnd(source: string, at: number): number {
  let end = at;
  while (end < source.length && !isBreak(source.charCodeAt(end))) end += 1;
  return end;
}

/** The offset behind a text in quotes that begins at `at`; of one that is not closed, behind its line. */
function textEnd(source: string, at: number): number {
  if (source.startsWith('"""', at)) {
    for (let end = source.indexOf('"""', at + 3); end !== -1; end = source.indexOf('"""', end + 3))
      if (source.charCodeAt(end - 1) !== code.backslash) return end + 3;
    return source.length;
  }
  for (let end = at + 1; end < source.length; end += 1) {
    const here = source.charCodeAt(end);
    if (here === code.backslash) end += 1;
    else if (here === code.quote) return end + 1;
    else if (isBreak(here)) return end;
  }
  return source.length;
}

/** How deep the brackets of a document go, those in texts and comments aside. */
function nestingOf(source: string): number {
  let nesting = 0;
  let deepest = 0;
  for (let at = 0; at < source.length; at += 1) {
    const here = source.charCodeAt(at);
    if (here === code.quote) at = textEnd(source, at) - 1;
    else if (here === code.hash) at = lineEnd(source, at);
    else if (here === code.open || here === code.openCurly || here === code.openRound) {
      nesting += 1;
      deepest = Math.max(deepest, nesting);
    } else if (here === code.close || here === code.closeCurly || here === code.closeRound) nesting -= 1;
  }
  return deepest;
}

function linesOf(source: string): number {
  let lines = 1;
  for (let at = 0; at < source.length; at += 1) if (isBreak(source.charCodeAt(at))) lines += 1;
  return lines;
}

/**
 * Checks the text of a document before it is parsed: the parser, and all that walks what it gives, goes down into brackets by calls, and each
 * error of a document counts the lines before it.
 * @throws LimitError
 */
export function checkSource(source: string): void {
  check('characters', source.length);
  check('lines', linesOf(source));
  check('nesting', nestingOf(source));
}
