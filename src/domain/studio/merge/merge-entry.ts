import { isUtf8 } from 'node:buffer';
import { DomainError } from '../../../kernel/errors.ts';
import { valueAt } from '../../../lib/json-pointer.ts';
import { isDateField } from '../entries/plan/change-entry.ts';
import { checkWritable, editFile } from '../frontmatter/edit-file.ts';
import { openFile, parseFile } from '../frontmatter/parse-file.ts';
import { joinSplit, type Split } from '../frontmatter/split.ts';
import { summarize } from '../frontmatter/summarize.ts';
import { type DateRule, deepEqual, type Frontmatter, type ParsedFile } from '../frontmatter/values.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import { dateKind } from '../schema/dates.ts';
import { labelAt } from '../schema/json-schema.ts';
import {
  type BodyRules,
  commonLineEnds,
  joinPieces,
  type LineEnds,
  type MergedBody,
  mergeBody,
  mergeText,
} from './diff3.ts';
import type { Conflict, Resolution } from './merge.schema.ts';
import { type Clash, type FieldRules, listKindOf, mergeFrontmatter } from './merge-frontmatter.ts';
import { checkPieces, refuseResolution, resolvedBytes, settlesWhole } from './resolutions.ts';

export interface MergeInput {
  /** null: no common ancestor, or none that is still stored; equal fields and lines pass then, the rest are conflicts. */
  base: Buffer | null;
  /** null: the file is not there on this side. */
  current: Buffer | null;
  incoming: Buffer | null;
  /** Decides content or data by its extension. */
  path: string;
  schema?: CollectionSchema;
  /** How the caller settles the conflict of this file. */
  resolution?: Resolution;
  /** Whether of two dates in `updated`, `lastmod` or `modified` the later one wins. Default true. */
  laterDates?: boolean;
}

/** What a merge finds out about one file; paths, stages and names are the caller's. */
export type FileConflict = Pick<Conflict, 'title' | 'type' | 'fields' | 'hunks' | 'resolved' | 'reason'>;

type MergeResult =
  /** `bytes` is null when the file is gone on both sides, or by resolution. */
  { kind: 'clean'; bytes: Buffer | null; resolved: string[] } | { kind: 'conflict'; conflict: FileConflict };

const clean = (bytes: Buffer | null, resolved: string[] = []): MergeResult => ({
  kind: 'clean',
  bytes,
  resolved,
});

export function conflicting(type: Conflict['type'], rest: Partial<FileConflict> = {}): MergeResult {
  return { kind: 'conflict', conflict: { type, fields: [], hunks: [], resolved: [], ...rest } };
}

/** One side of a merge, read. */
interface Side {
  bytes: Buffer;
  split: Split;
  parsed: ParsedFile & { frontmatter: Frontmatter };
}

interface Sides {
  base: Side | null;
  current: Side;
  incoming: Side;
}

/** What the file shall hold. */
interface Merged {
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
function writeMerged(
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
  const plain = plainDates(incoming.split.source);
  return (pointer, value) => declared(pointer) || (dateKind(value) !== null && plain.has(value));
}

const dateOrTime =
  /(?<!["'\w-])\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[ \t]*(?:[Zz]|[+-]\d{1,2}(?::?\d{2})?))?)?(?!["'\w-])/g;

/** Dates and times that stand in a block without quotes. */
const plainDates = (source: string): ReadonlySet<string> => new Set(source.match(dateOrTime));

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

/** Merges two versions that are both there and differ from base and from one another. */
function mergeTexts(input: MergeInput, current: Buffer, incoming: Buffer): MergeResult {
  const { base, path } = input;
  if ([base, current, incoming].some((bytes) => bytes !== null && isBinary(bytes))) {
    checkPieces(input, { fields: [], hunks: [] });
    return conflicting('binary', { reason: 'not a text in UTF-8' });
  }
  const [was, ours, theirs] = [base && sideOf(base, path), sideOf(current, path), sideOf(incoming, path)];
  return was !== undefined && ours && theirs
    ? mergeParts(input, { base: was, current: ours, incoming: theirs })
    : mergeLines(input, current.toString('utf8'), incoming.toString('utf8'));
}

/** As git sees it, and besides what is no UTF-8: neither can be merged by lines. */
const isBinary = (bytes: Buffer) => !isUtf8(bytes) || bytes.includes(0);

function sideOf(bytes: Buffer, path: string): Side | undefined {
  const { parsed, split } = openFile(bytes, path);
  const { frontmatter } = parsed;
  return split === undefined || frontmatter === null ? undefined : { bytes, split, parsed: { ...parsed, frontmatter } };
}

const textOf = (side: Side) => side.bytes.toString('utf8');

function mergeParts(input: MergeInput, sides: Sides): MergeResult {
  const { base, current, incoming } = sides;
  const fields = mergeFrontmatter(
    base?.parsed.frontmatter ?? null,
    current.parsed.frontmatter,
    incoming.parsed.frontmatter,
    fieldRules(input),
  );
  const ends = commonLineEnds(base && textOf(base), textOf(current), textOf(incoming));
  const rules = bodyRules(input, ends);
  const body = mergeBody(base?.split.body ?? null, current.split.body, incoming.split.body, rules);
  checkPieces(input, { fields: fields.clashes, hunks: body.clashes });
  if (input.resolution?.fields) checkWritable(fields.frontmatter, current.split.format);
  if (fields.open.length + body.open.length > 0) return openConflict(input, fields.open, body, fields.resolved);
  const merged = { frontmatter: fields.frontmatter, body: body.text };
  const written = writeMerged(sides, merged, input, ends);
  if (typeof written !== 'string') return clean(written, fields.resolved);
  return conflicting(base ? 'field' : 'add_add', { reason: written });
}

/** A file with a block that cannot be read is merged as the text it is; what could be read before must be readable after. */
function mergeLines(input: MergeInput, current: string, incoming: string): MergeResult {
  const base = input.base?.toString('utf8') ?? null;
  const body = mergeBody(base, current, incoming, bodyRules(input, commonLineEnds(base, current, incoming)));
  checkPieces(input, { fields: [], hunks: body.clashes });
  if (body.open.length > 0) return openConflict(input, [], body, []);
  const bytes = Buffer.from(body.text, 'utf8');
  const { error } = parseFile(bytes, input.path);
  const readable = [current, incoming].some((text) => parseFile(Buffer.from(text), input.path).error === undefined);
  if (error === undefined || !readable) return clean(bytes);
  return conflicting(input.base ? 'body' : 'add_add', { reason: `frontmatter: ${error.message}` });
}

/** Pieces of one file that are shown to be settled one by one: of tens of thousands in hundreds of files an answer has no end. */
const mostPieces = 1_000;

function openConflict(
  { base, schema }: MergeInput,
  fields: readonly Clash[],
  { open }: MergedBody,
  resolved: string[],
): MergeResult {
  const type = base === null ? 'add_add' : fields.length > 0 ? 'field' : 'body';
  if (fields.length + open.length > mostPieces)
    return conflicting(type, { reason: `more than ${mostPieces.toLocaleString('en')} pieces of it clash` });
  const labelled = fields.map((clash) => ({ ...clash, label: labelAt(schema, clash.field) }));
  return conflicting(type, { fields: labelled, hunks: open, resolved });
}

function fieldRules({ schema, laterDates, resolution }: MergeInput): FieldRules {
  return {
    ...(schema && { listKind: listKindOf(schema.fields) }),
    ...(laterDates !== undefined && { laterDates }),
    choices: new Map(Object.entries(resolution?.fields ?? {})),
  };
}

function bodyRules({ resolution }: MergeInput, ends: LineEnds): BodyRules {
  return { ends, choices: new Map(Object.entries(resolution?.hunks ?? {})) };
}

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
  const result = titled(current && incoming ? mergeTexts(input, current, incoming) : deleted(input), input);
  if (resolution === undefined || !whole) return result;
  if (result.kind === 'clean') refuseResolution(path, 'the file is not in conflict');
  return clean(resolvedBytes(input, resolution));
}

/** A conflict in an entry with the title that the entry has. */
function titled(result: MergeResult, { current, incoming, path, schema }: MergeInput): MergeResult {
  const bytes = current ?? incoming;
  if (result.kind === 'clean' || !schema || !bytes) return result;
  const { title } = summarize(parseFile(bytes, path), '');
  return title === '' ? result : { ...result, conflict: { ...result.conflict, title } };
}

function deleted(input: MergeInput): MergeResult {
  checkPieces(input, { fields: [], hunks: [] });
  return conflicting('delete_modify');
}

const same = (left: Buffer | null, right: Buffer | null) =>
  left === right || (left !== null && right !== null && left.equals(right));
