import { eolOf } from '../../frontmatter/split.ts';

/** Gives a text other line ends, or leaves it. */
export type LineEnds = (text: string) => string;

/**
 * How to make the line ends of three versions alike before they are compared, so that a converted file is not one big change:
 * current's are taken when the sides differ in nothing but that one has LF throughout and another CRLF. A mixed text is left as
 * it is, and so are the others then.
 */
export function commonLineEnds(base: string | null, current: string, incoming: string): LineEnds {
  const ends = [current, incoming, base ?? ''].filter((text) => text.includes('\n')).map(eolOf);
  const [first] = ends;
  if (ends.includes('mixed') || ends.every((eol) => eol === first)) return (text) => text;
  return first === 'crlf' ? toCrlf : (text) => text.replaceAll('\r\n', '\n');
}

/** The line ends of a text that is put into a file: a file of CRLF throughout keeps to it. */
export function lineEndsWithin(file: string): LineEnds {
  return file.includes('\n') && eolOf(file) === 'crlf' ? toCrlf : (text) => text;
}

const toCrlf: LineEnds = (text) => text.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n');
