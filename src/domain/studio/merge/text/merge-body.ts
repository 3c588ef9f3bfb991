import type { ConflictHunk, HunkChoice } from '../merge.schema.ts';
import { hunksOf, joinPieces, mergeText } from './diff3.ts';
import { type LineEnds, lineEndsWithin } from './line-ends.ts';

export interface MergedBody {
  /** Where a clash is not settled it holds current's text. */
  text: string;
  /** Every clash, settled or not. */
  clashes: ConflictHunk[];
  /** The clashes nobody has settled. */
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
