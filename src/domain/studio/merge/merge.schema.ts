import { z } from 'zod';
import { freeValue } from '../../../kernel/shapes.ts';
import { pathBytes } from '../path-rules.ts';

/** What kind of clash a file has. `field` and `body` can be settled piece by piece, and so can `add_add` of two texts. */
const conflictTypes = ['field', 'body', 'add_add', 'delete_modify', 'rename_rename', 'binary', 'mode'] as const;
export type ConflictType = (typeof conflictTypes)[number];

const conflictSides = ['current', 'incoming', 'base'] as const;

const side = z.enum(conflictSides);
const oid = z.string().nullable().describe('Object id of the blob; null when the file is not there');

const conflictStages = z.object({ base: oid, current: oid, incoming: oid }).meta({ id: 'ConflictStages' });

const conflictField = z
  .object({
    field: z.string().describe('JSON Pointer; items of a list that are identified by a key are numbered as in base'),
    label: z.string().describe('What the schema calls it, as `Author › Name`'),
    base: z.unknown().optional().describe('Left out when the key is not there'),
    current: z.unknown().optional().describe('Left out when the key is not there'),
    incoming: z.unknown().optional().describe('Left out when the key is not there'),
  })
  .meta({ id: 'ConflictField' });
export type ConflictField = z.output<typeof conflictField>;

const conflictHunk = z
  .object({
    id: z.string().describe('Valid as long as the stages are'),
    base: z.string().nullable().describe('null without a common ancestor'),
    current: z.string(),
    incoming: z.string(),
    line: z
      .int32()
      .describe("First line of the region in current's body, from 1; in its file when the file has no body"),
  })
  .meta({ id: 'ConflictHunk' });
export type ConflictHunk = z.output<typeof conflictHunk>;

/** What two versions of one file disagree about (section 6.3 of the studio specification). */
export const conflict = z
  .object({
    path: z.string(),
    previous_path: z.string().optional(),
    collection: z.string().optional(),
    slug: z.string().optional(),
    title: z.string().optional().describe('Of an entry that can be read'),
    type: z.enum(conflictTypes),
    stages: conflictStages,
    fields: z.array(conflictField),
    hunks: z.array(conflictHunk),
    resolved: z
      .array(z.string())
      .describe('JSON Pointers of what was changed and merged without help, the first 1000, fewer where they are long'),
    reason: z.string().optional().describe('Why only the whole file can be resolved: by take, delete or raw'),
  })
  .meta({ id: 'Conflict' });
export type Conflict = z.output<typeof conflict>;

/** The conflicts of a merge, where it is shown. */
export const foundConflicts = {
  conflicts: z.array(conflict).describe('In order of path, at most 1000'),
  conflicts_truncated: z.boolean().optional().describe('There may be more conflicts than are shown'),
};
export type FoundConflicts = z.output<z.ZodObject<typeof foundConflicts>>;

/** Half a surrogate pair cannot be stored as UTF-8. */
const text = z.string().refine((value) => value.isWellFormed(), 'must be valid Unicode');

const choices = ['take', 'value'];
const oneOf = (choice: object) => choices.filter((name) => Object.hasOwn(choice, name)).length === 1;
const eitherOf = (value: object) => [
  { type: 'object', properties: { take: { type: 'string', enum: conflictSides } }, required: ['take'] },
  { type: 'object', properties: { value }, required: ['value'] },
];

const fieldChoice = z
  .object({ take: side.optional(), value: freeValue.optional() })
  .refine(oneOf, 'must have either take or value')
  .meta({ id: 'FieldChoice', oneOf: eitherOf({}) });
export type FieldChoice = z.output<typeof fieldChoice>;

const hunkChoice = z
  .object({ take: side.optional(), value: text.optional() })
  .refine(oneOf, 'must have either take or value')
  .meta({ id: 'HunkChoice', oneOf: eitherOf({ type: 'string' }) });
export type HunkChoice = z.output<typeof hunkChoice>;

/** How to settle the conflict of one file: `take`, `delete` and `raw` the whole of it, `fields` and `hunks` its pieces. */
export const resolution = z
  .object({
    path: z.string().max(pathBytes, `must be at most ${pathBytes} bytes long`),
    stages: conflictStages.optional().describe('The stages the conflict was shown with'),
    take: side.optional(),
    delete: z.literal(true).optional(),
    fields: z.record(z.string(), fieldChoice).optional().describe('By JSON Pointer, as reported'),
    hunks: z.record(z.string(), hunkChoice).optional().describe('By id, as reported'),
    raw: text.optional().describe('The whole text of the file'),
  })
  .meta({ id: 'Resolution' });
export type Resolution = z.output<typeof resolution>;

/** What a resolution may need beside the right to merge. */
export type ResolutionPermission = 'delete_studio' | 'manage_studio';

/** A file that took more than git's merge of lines. */
export const resolvedFile = z
  .object({
    path: z.string(),
    collection: z.string().optional(),
    slug: z.string().optional(),
    fields: z
      .array(z.string())
      .describe(
        'JSON Pointers of the keys that were changed and merged without help, the first 1000, fewer where they are long',
      ),
  })
  .meta({ id: 'ResolvedFile' });
export type ResolvedFile = z.output<typeof resolvedFile>;
