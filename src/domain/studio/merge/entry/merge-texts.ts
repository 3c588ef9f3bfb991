import { isUtf8 } from 'node:buffer';
import { checkWritable } from '../../frontmatter/check-value.ts';
import { openFile, parseFile } from '../../frontmatter/parse-file.ts';
import { listKindOf } from '../frontmatter/list-kind.ts';
import { mergeFrontmatter } from '../frontmatter/merge-frontmatter.ts';
import type { FieldRules } from '../frontmatter/walk.ts';
import type { ConflictField } from '../merge.schema.ts';
import { commonLineEnds, type LineEnds } from '../text/line-ends.ts';
import { type BodyRules, type MergedBody, mergeBody } from '../text/merge-body.ts';
import { clean, conflicting, type MergeInput, type MergeResult } from './merge-input.ts';
import { checkPieces } from './resolve.ts';
import { type Side, type Sides, writeMerged } from './write-merged.ts';

/** Merges two versions that are both there and differ from base and from one another. */
export function mergeTexts(input: MergeInput, current: Buffer, incoming: Buffer): MergeResult {
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

function openConflict(
  { base }: MergeInput,
  fields: ConflictField[],
  { open }: MergedBody,
  resolved: string[],
): MergeResult {
  const type = base === null ? 'add_add' : fields.length > 0 ? 'field' : 'body';
  return conflicting(type, { fields, hunks: open, resolved });
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
