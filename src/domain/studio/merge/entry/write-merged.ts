import { DomainError } from '../../../errors.ts';
import { isDateField } from '../../entries/entry-format.ts';
import type { DateRule } from '../../frontmatter/date-rule.ts';
import { editFile } from '../../frontmatter/edit-file.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import { joinSplit, type Split } from '../../frontmatter/split.ts';
import type { Frontmatter, ParsedFile } from '../../frontmatter/types.ts';
import { deepEqual, isRecord, parsePointer } from '../../frontmatter/values.ts';
import type { CollectionSchema } from '../../schema/collection-schema.ts';
import { dateKind } from '../../schema/dates.ts';
import { joinPieces, mergeText } from '../text/diff3.ts';
import type { LineEnds } from '../text/line-ends.ts';
import type { MergeInput } from './merge-input.ts';

/** One side of a merge, read. */
export interface Side {
  bytes: Buffer;
  split: Split;
  parsed: ParsedFile & { frontmatter: Frontmatter };
}

export interface Sides {
  base: Side | null;
  current: Side;
  incoming: Side;
}

/** What the file shall hold. */
export interface Merged {
  frontmatter: Frontmatter;
  body: string;
}

/**
 * Writes a merge into a file: onto current's text together with what incoming changed in other lines of the block (comments, the
 * order of keys), else onto current's bytes alone, else onto incoming's, where current has no safe place for a change (an anchor
 * others use). The result reads back exactly as `merged`.
 *
 * @returns the bytes, or the reason why no file can be written safely.
 */
export function writeMerged(
  sides: Sides,
  merged: Merged,
  { path, schema }: Pick<MergeInput, 'path' | 'schema'>,
  ends: LineEnds,
): Buffer | string {
  const options = { isDate: dateRule(sides, schema), ...blockFormat(sides.incoming) };
  let refusal = '';
  for (const bytes of [blendedBytes(sides, ends), sides.current.bytes, sides.incoming.bytes]) {
    if (bytes === null) continue;
    try {
      const written = editFile(bytes, path, merged, options).bytes;
      if (keepsNumbers(sides, merged.frontmatter, written, path)) return written;
      refusal ||= 'a number too large for an exact copy was changed';
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      refusal ||= error.message;
    }
  }
  return refusal;
}

/**
 * Current's file with the lines of the block merged, neighbouring keys too; where they clash, current's stand. It need not be
 * readable, nor right: it is only what the merge is then written onto.
 */
function blendedBytes({ base, current, incoming }: Sides, ends: LineEnds): Buffer | null {
  const { format } = current.split;
  if (base?.split.format !== format || incoming.split.format !== format || format === 'none') return null;
  const pieces = mergeText(ends(base.split.source), ends(current.split.source), ends(incoming.split.source), {
    neighbours: 'pass',
  });
  const source = joinPieces(pieces, (hunk) => hunk.current);
  return source === current.split.source ? null : Buffer.from(joinSplit({ ...current.split, source }), 'utf8');
}

/** A date incoming wrote without quotes stays one, whether or not a schema says so: readers tell a date from a text by them. */
function dateRule({ incoming }: Sides, schema: CollectionSchema | undefined): DateRule {
  const declared = schema === undefined ? () => false : isDateField(schema);
  return (pointer, value) => declared(pointer) || standsPlain(incoming.split.source, value);
}

function standsPlain(source: string, date: string): boolean {
  if (dateKind(date) === null) return false;
  const pattern = date.replace(/[^\w\s]/g, '\\$&');
  return new RegExp(`(?<!["'\\w-])${pattern}(?!["'\\w-])`).test(source);
}

function blockFormat({ split }: Side): { format?: 'yaml' | 'toml' | 'json' } {
  return split.format === 'none' ? {} : { format: split.format };
}

/** Numbers JavaScript cannot hold are read as text; where that text is unchanged the file must hold the number, not the text. */
function keepsNumbers({ current, incoming }: Sides, merged: Frontmatter, bytes: Buffer, path: string): boolean {
  const sides = [current.parsed, incoming.parsed];
  if (sides.every(({ lossy }) => lossy.length === 0)) return true;
  const kept = new Set(parseFile(bytes, path).lossy);
  return sides.every(({ lossy, frontmatter }) =>
    lossy.every((pointer) => kept.has(pointer) || !deepEqual(valueAt(frontmatter, pointer), valueAt(merged, pointer))),
  );
}

function valueAt(root: unknown, pointer: string): unknown {
  return (parsePointer(pointer) ?? []).reduce<unknown>((here, name) => {
    if (Array.isArray(here)) return here[Number(name)];
    return isRecord(here) && Object.hasOwn(here, name) ? here[name] : undefined;
  }, root);
}
