import { clean, conflicting, type MergeInput, type MergeResult } from './merge-input.ts';
import { mergeTexts } from './merge-texts.ts';
import { checkPieces, refuseResolution, resolvedBytes, settlesWhole } from './resolve.ts';

export type { FileConflict, MergeInput, MergeResult } from './merge-input.ts';

/**
 * Merges three versions of one file: frontmatter key by key, body line by line, written onto current's bytes, whose line ends
 * and format stay. A file whose block cannot be read is merged as text. Settled pieces leave the conflict; what is left is
 * reported again with the same names.
 *
 * @throws DomainError `validation_failed` for a resolution of what is not in conflict, or a value the file cannot hold;
 * `frontmatter_invalid` for raw text that cannot be read.
 */
export function mergeEntry(input: MergeInput): MergeResult {
  const { base, current, incoming, path, resolution } = input;
  const whole = settlesWhole(input);
  const taken = same(current, incoming) || same(base, incoming) ? current : same(base, current) ? incoming : undefined;
  if (taken !== undefined) {
    if (resolution !== undefined) refuseResolution(path, 'the file is not in conflict');
    return clean(taken);
  }
  const result = current && incoming ? mergeTexts(input, current, incoming) : deleted(input);
  if (resolution === undefined || !whole) return result;
  if (result.kind === 'clean') refuseResolution(path, 'the file is not in conflict');
  return clean(resolvedBytes(input, resolution));
}

function deleted(input: MergeInput): MergeResult {
  checkPieces(input, { fields: [], hunks: [] });
  return conflicting('delete_modify');
}

const same = (left: Buffer | null, right: Buffer | null) =>
  left === right || (left !== null && right !== null && left.equals(right));
