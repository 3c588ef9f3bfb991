import type { FieldError } from '../../errors.ts';
import { type Check, checkValue, escapePointer } from './check-value.ts';
import type { CollectionSchema } from './collection-schema.ts';
import { compilePattern, type PatternTest } from './patterns.ts';
import type { SchemaField } from './schema.schema.ts';

export interface ValidationOptions {
  /** Whether an entry of a collection exists; absent: references are not checked. */
  references?: (collection: string, slug: string) => boolean;
  /** Whether a stored image or file path (relative, `/public` or alias) leads to a file; absent: not checked. */
  files?: (path: string) => boolean;
  /** JSON Pointer of the metadata inside the caller's input, such as `/frontmatter`. */
  prefix?: string;
}

export interface Validation {
  errors: FieldError[];
  /** Unknown keys of strict schemas, patterns that cannot be checked, and every fault of an inferred schema. */
  warnings: FieldError[];
}

const MAX_FAULTS = 100;

/** Pattern and pointer of each field that has one; a list is one step, `*`. */
function* patternsOf(fields: readonly SchemaField[], pointer: string): Generator<[string, string]> {
  for (const field of fields) {
    // A variant has no name of its own.
    const own = field.name === '' ? pointer : `${pointer}/${escapePointer(field.name)}`;
    const at = field.list ? `${own}/*` : own;
    if (field.pattern !== undefined) yield [field.pattern, at];
    yield* patternsOf(field.fields ?? [], at);
    yield* patternsOf(field.variants ?? [], at);
  }
}

/**
 * Compares the metadata of one entry, as it is stored, with the collection's fields. It refuses nothing the site would accept:
 * what the Field tree does not know is not checked.
 * @returns at most 100 errors and 100 warnings, `field` a JSON Pointer
 */
export async function validateEntry(
  schema: Pick<CollectionSchema, 'fields' | 'inferred' | 'strict' | 'items_in_file'>,
  frontmatter: unknown,
  options: ValidationOptions = {},
): Promise<Validation> {
  const prefix = options.prefix ?? '';
  const { references, files } = options;
  const patterns = new Map<string, PatternTest>();
  const check: Check = { errors: [], warnings: [], patterns, references, files };
  for (const [pattern, field] of patternsOf(schema.fields, prefix)) {
    const test = await compilePattern(pattern);
    patterns.set(pattern, test);
    const message = `the pattern ${pattern} cannot be checked`;
    if (test === null) check.warnings.push({ field, code: 'pattern_unchecked', message });
  }
  const entry: SchemaField = {
    name: '',
    type: 'object',
    required: true,
    list: false,
    fields: schema.fields,
    strict: schema.strict,
  };
  if (schema.items_in_file && typeof frontmatter === 'object' && frontmatter !== null) {
    for (const [key, item] of Object.entries(frontmatter))
      checkValue(entry, item, `${prefix}/${escapePointer(key)}`, check);
  } else checkValue(entry, frontmatter, prefix, check);
  const { errors, warnings } = check;
  if (schema.inferred) return { errors: [], warnings: [...errors, ...warnings].slice(0, MAX_FAULTS) };
  return { errors: errors.slice(0, MAX_FAULTS), warnings: warnings.slice(0, MAX_FAULTS) };
}
