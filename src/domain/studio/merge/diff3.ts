import { eolOf } from '../frontmatter/split.ts';
import { type Change, diffLines } from './line-diff.ts';
import type { ConflictHunk, HunkChoice } from './merge.schema.ts';

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
function lineEndsWithin(file: string): LineEnds {
  return file.includes('\n') && eolOf(file) === 'crlf' ? toCrlf : (text) => text;
}

const toCrlf: LineEnds = (text) => text.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n');

/** A merged text in order: text both sides agree on, and the regions they do not. */
type Piece = string | ConflictHunk;

/** A text of more lines is not compared with others by line: what three such take is still a fraction of a second. */
const mostLines = 100_000;

/**
 * Merges three texts line by line (diff3). Changes of the two sides that overlap or touch clash unless they come to the same
 * text, as in `git merge-file`; with `neighbours: 'pass'` changes that only touch do not clash. A line includes its line end, so a missing one at the end of the text is a difference.
 *
 * Texts of more than 100,000 lines clash as a whole.
 *
 * @param base null: equal lines pass, and every region in which the two sides differ is a conflict.
 * @returns pieces whose hunks are numbered from `1`; `line` counts from 1 in `current`.
 */
export function mergeText(
  base: string | null,
  current: string,
  incoming: string,
  { neighbours = 'clash' }: { neighbours?: 'clash' | 'pass' } = {},
): Piece[] {
  if (current === incoming || base === incoming) return [current];
  if (base === current) return [incoming];
  if ([base ?? '', current, incoming].some(isLong)) return [{ id: '1', base, current, incoming, line: 1 }];
  const lines = { base: linesOf(base ?? ''), current: linesOf(current), incoming: linesOf(incoming) };
  const numbers = new Map<string, number>();
  const [b, c, i] = [
    numberLines(lines.base, numbers),
    numberLines(lines.current, numbers),
    numberLines(lines.incoming, numbers),
  ];
  const regions =
    base === null
      ? diffLines(c, i, numbers.size).map(twoWayRegion)
      : regionsOf(diffLines(b, c, numbers.size), diffLines(b, i, numbers.size), neighbours === 'clash');
  return assemble(lines, regions, base === null);
}

function isLong(text: string): boolean {
  let at = -1;
  for (let lines = 0; lines < mostLines; lines += 1) {
    at = text.indexOf('\n', at + 1);
    if (at === -1) return false;
  }
  return at < text.length - 1;
}

/** The merged text, with `settle` saying what stands for each hunk. */
export function joinPieces(pieces: readonly Piece[], settle: (hunk: ConflictHunk) => string): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : settle(piece))).join('');
}

export function hunksOf(pieces: readonly Piece[]): ConflictHunk[] {
  return pieces.filter((piece) => typeof piece !== 'string');
}

type Side = 'base' | 'current' | 'incoming';
type Range = readonly [start: number, end: number];
/** Lines of the three texts that correspond, and who changed them. */
type Region = Record<Side, Range> & { changed: 'current' | 'incoming' | 'both' };

/** Lines of a text with their line ends. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

/** Lines by numbers that `diffLines` compares: equal lines have one number, in all texts that share `numbers`. */
export function numberLines(lines: readonly string[], numbers: Map<string, number>): Int32Array {
  return Int32Array.from(lines, (line) => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  });
}

function twoWayRegion({ old, removed, fresh, added }: Change): Region {
  return { base: [0, 0], current: [old, old + removed], incoming: [fresh, fresh + added], changed: 'both' };
}

/** Groups the changes of both sides: changes that overlap in base, or touch where that counts, become one region. */
function regionsOf(ours: readonly Change[], theirs: readonly Change[], touching: boolean): Region[] {
  const regions: Region[] = [];
  for (let [o, t] = [0, 0]; o < ours.length || t < theirs.length; ) {
    const [o0, t0] = [o, t];
    const start = Math.min(ours[o]?.old ?? Infinity, theirs[t]?.old ?? Infinity);
    let end = start;
    const joins = ({ old }: Change) => old < end || old === start || (touching && old === end);
    for (;;) {
      const [our, their] = [ours[o], theirs[t]];
      if (our !== undefined && joins(our)) {
        end = Math.max(end, our.old + our.removed);
        o++;
      } else if (their !== undefined && joins(their)) {
        end = Math.max(end, their.old + their.removed);
        t++;
      } else break;
    }
    regions.push({
      base: [start, end],
      current: [start + drift(ours[o0 - 1]), end + drift(ours[o - 1])],
      incoming: [start + drift(theirs[t0 - 1]), end + drift(theirs[t - 1])],
      changed: o === o0 ? 'incoming' : t === t0 ? 'current' : 'both',
    });
  }
  return regions;
}

/** How far behind a change the positions of the new text are ahead of the old. */
function drift(change: Change | undefined): number {
  return change === undefined ? 0 : change.fresh + change.added - change.old - change.removed;
}

function assemble(lines: Record<Side, string[]>, regions: readonly Region[], twoWay: boolean): Piece[] {
  const pieces: Piece[] = [];
  const text = (side: Side, [start, end]: Range) => lines[side].slice(start, end).join('');
  let done = 0;
  let count = 0;
  for (const region of regions) {
    pieces.push(text('current', [done, region.current[0]]));
    done = region.current[1];
    const [current, incoming] = [text('current', region.current), text('incoming', region.incoming)];
    if (region.changed !== 'both' || current === incoming) {
      pieces.push(region.changed === 'incoming' ? incoming : current);
      continue;
    }
    const base = twoWay ? null : text('base', region.base);
    pieces.push({ id: String(++count), base, current, incoming, line: region.current[0] + 1 });
  }
  pieces.push(text('current', [done, lines.current.length]));
  return pieces.filter((piece) => piece !== '');
}

export interface MergedBody {
  /** Where a clash is not settled it holds current's text. */
  text: string;
  /** Every clash, settled or not. */
  clashes: ConflictHunk[];
  /** The unresolved clashes. */
  open: ConflictHunk[];
}

export interface BodyRules {
  /** Makes the line ends of the three alike. */
  ends: LineEnds;
  /** Settles clashes, by id. */
  choices: ReadonlyMap<string, HunkChoice>;
}

/** Merges three bodies line by line; see `mergeText`. */
export function mergeBody(
  base: string | null,
  current: string,
  incoming: string,
  { ends, choices }: BodyRules,
): MergedBody {
  const pieces = mergeText(base === null ? null : ends(base), ends(current), ends(incoming));
  const clashes = hunksOf(pieces);
  const last = pieces.at(-1);
  const text = joinPieces(pieces, (hunk) => {
    const { take = 'current', value } = choices.get(hunk.id) ?? {};
    if (value === undefined) return hunk[take] ?? '';
    // A line that others follow needs its end.
    const complete = value === '' || value.endsWith('\n') || hunk === last ? value : `${value}\n`;
    return lineEndsWithin(current)(complete);
  });
  return { text, clashes, open: clashes.filter(({ id }) => !choices.has(id)) };
}
