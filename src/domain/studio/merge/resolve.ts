import { DomainError } from '../../../kernel/errors.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { Resolution } from './merge.schema.ts';
import type { MergeInput } from './merge-entry.ts';

/** @throws DomainError `validation_failed`, naming the file. */
export function refuseResolution(path: string, problem: string): never {
  const message = `${path}: ${problem}`;
  throw new DomainError('validation_failed', `resolutions: ${message}`, {
    details: { errors: [{ field: '/resolutions', code: 'validation_failed', message }] },
  });
}

/**
 * Checks that a resolution makes one choice, and a possible one.
 * @returns whether it settles the file whole (`take`, `delete`, `raw`) and not piece by piece.
 */
export function settlesWhole({ resolution, base, path }: MergeInput): boolean {
  if (resolution === undefined) return false;
  const { take, delete: remove, raw, fields, hunks } = resolution;
  const pieces = fields ?? hunks;
  if ([take, remove, raw, pieces].filter((way) => way !== undefined).length !== 1) {
    refuseResolution(path, 'must have one of take, delete, raw, or fields and hunks');
  }
  const choices = [{ take }, ...Object.values(fields ?? {}), ...Object.values(hunks ?? {})];
  if (base === null && choices.some((choice) => choice.take === 'base')) {
    refuseResolution(path, 'base cannot be taken: the two sides have no common ancestor');
  }
  return pieces === undefined;
}

/**
 * The bytes of a file that is resolved as a whole; null: the file is deleted.
 * @throws DomainError `frontmatter_invalid` when `raw` cannot be read although one of the sides can.
 */
export function resolvedBytes(
  { path, current, incoming, ...input }: MergeInput,
  { take, raw }: Resolution,
): Buffer | null {
  if (take !== undefined) return { base: input.base, current, incoming }[take];
  if (raw === undefined) return null;
  const bytes = Buffer.from(raw, 'utf8');
  const { error } = parseFile(bytes, path);
  const readable = [current, incoming].some((side) => side !== null && parseFile(side, path).error === undefined);
  if (error === undefined || !readable) return bytes;
  const { message, line, column } = error;
  throw new DomainError('frontmatter_invalid', `resolutions: ${path}: ${message} (line ${line}, column ${column})`, {
    details: { errors: [{ field: '/resolutions', code: 'frontmatter_invalid', message, line, column }] },
  });
}

/** @throws DomainError `validation_failed` when a piece is settled that does not clash. */
export function checkPieces(
  { resolution: { fields = {}, hunks = {} } = { path: '' }, path }: MergeInput,
  clashes: { fields: readonly { field: string }[]; hunks: readonly { id: string }[] },
): void {
  const known = {
    fields: new Set(clashes.fields.map(({ field }) => field)),
    hunks: new Set(clashes.hunks.map(({ id }) => id)),
  };
  const field = Object.keys(fields).find((pointer) => !known.fields.has(pointer));
  if (field !== undefined) refuseResolution(path, `the field ${field} is not in conflict`);
  const hunk = Object.keys(hunks).find((id) => !known.hunks.has(id));
  if (hunk !== undefined) refuseResolution(path, `the hunk ${hunk} is not in conflict`);
}
