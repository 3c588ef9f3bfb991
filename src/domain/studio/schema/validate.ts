import type { FieldError } from '../../../kernel/errors.ts';
import { Pace, yieldLoop } from '../../../lib/concurrency.ts';
import { pointerTo } from '../../../lib/json-pointer.ts';
import { isRecord } from '../../../lib/objects.ts';
import { shortened } from '../../../lib/text.ts';
import type { CollectionSchema } from './collection-schema.ts';
import { dateKind } from './dates.ts';
import type { SchemaField } from './schema.schema.ts';

const counted = /\{(\d+)(?:,(\d*))?\}/y;
/** A character class, escapes in it included. */
const characterClass = /\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]?/y;

/** Where a piece of a pattern ends, by one of the two above; null where it is none. */
function pieceAt(piece: RegExp, pattern: string, at: number): RegExpExecArray | null {
  piece.lastIndex = at;
  return piece.exec(pattern);
}

/** About how many instructions a pattern has once its counted repetitions are written out: some characters can have a million. */
export function patternSize(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at];
    const repeat = character === '{' ? pieceAt(counted, pattern, at) : null;
    if (repeat) {
      const times = Math.max(1, Number(repeat[1]), Number(repeat[2] ?? 0));
      sum += last * (times - 1);
      last *= times;
      at += repeat[0].length - 1;
    } else if (character === '(') {
      outer.push(sum);
      sum = 0;
      last = 0;
    } else if (character === ')') {
      last = sum;
      sum += outer.pop() ?? 0;
    } else {
      if (character === '\\') at += 1;
      else if (character === '[') at += (pieceAt(characterClass, pattern, at)?.[0].length ?? 1) - 1;
      last = 1;
      sum += 1;
    }
  }
  return outer.reduce((whole, part) => whole + part, sum);
}

type PatternTest = (text: string) => boolean;

interface Pattern {
  /** Instructions; a test takes as many steps for each character of its text. */
  size: number;
  test: PatternTest;
}

/** Steps of all tests of one entry, a tenth of a second: a counted repetition can have thousands of instructions, and a text a million characters. */
const mostSteps = 5_000_000;

/** Instructions of all patterns of one entry: to compile each takes microseconds, and some tens of bytes for as long as it is kept. */
const mostInstructions = 100_000;

const MAX_KEPT = 500;
/** Instructions of all that are kept. */
const mostKept = 10 * mostInstructions;
let instructionsKept = 0;
const compiled = new Map<string, Pattern | null>();

/**
 * Compiles a pattern with re2js, whose time is linear in the text: patterns come from repositories and the engine's own RegExp
 * would let them block the process. The library is loaded when the first pattern is met.
 * @returns null for what RE2 has not (look-around, back references)
 */
async function compilePattern(pattern: string): Promise<Pattern | null> {
  const kept = compiled.get(pattern);
  if (kept !== undefined) return kept;
  const { RE2JS } = await import('re2js');
  // To compile some hundreds takes seconds.
  await yieldLoop();
  let known: Pattern | null = null;
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    known = { size: expression.programSize(), test: (text) => expression.matcher(text).find() };
  } catch {
    // Any refusal of the library means the same: this pattern cannot be checked.
  }
  if (compiled.size >= MAX_KEPT || instructionsKept > mostKept) {
    compiled.clear();
    instructionsKept = 0;
  }
  compiled.set(pattern, known);
  instructionsKept += known?.size ?? 0;
  return known;
}

/** Code and message of what is wrong with one value. */
type Fault = readonly [code: string, message: string];

interface Lookups {
  /** By pattern; one that cannot be checked has none. */
  patterns: ReadonlyMap<string, PatternTest>;
  references: ((collection: string, slug: string) => boolean) | undefined;
  files: ((path: string) => boolean) | undefined;
}

const none: Fault[] = [];
const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Characters as JSON Schema counts them: code points. */
const lengthOf = (text: string) => [...text].length;

/** Faults of a size against limits; `unit` is what is counted, empty for a number itself. */
function outside(
  size: number,
  min: number | undefined,
  max: number | undefined,
  suffix: string,
  unit: string,
): Fault[] {
  const faults: Fault[] = [];
  const verb = unit === '' ? 'be' : 'have';
  const say = (limit: number) => (unit === '' ? String(limit) : plural(limit, unit));
  if (min !== undefined && size < min) faults.push([`min${suffix}`, `must ${verb} at least ${say(min)}`]);
  if (max !== undefined && size > max) faults.push([`max${suffix}`, `must ${verb} at most ${say(max)}`]);
  return faults;
}

function checkNumber({ type, min, max, coerce }: SchemaField, value: unknown): Fault[] {
  const wanted: Fault = ['type', type === 'integer' ? 'must be a whole number' : 'must be a number'];
  if (typeof value !== 'number') {
    const converts = coerce === true && !(typeof value === 'string' && Number.isNaN(Number(value)));
    return converts ? none : [wanted];
  }
  return type === 'integer' && !Number.isInteger(value) ? [wanted] : outside(value, min, max, '', '');
}

function checkDate({ type, coerce }: SchemaField, value: unknown): Fault[] {
  const example = type === 'date' ? 'a date, such as 2024-05-31' : 'a date and time, such as 2024-05-31T12:00:00Z';
  if (typeof value !== 'string') return coerce ? none : [['type', `must be ${example}`]];
  const kind = dateKind(value);
  const strict = kind !== null && (type === 'date' || kind === type);
  const lenient = coerce === true && (kind !== null || !Number.isNaN(Date.parse(value)));
  return strict || lenient ? none : [['date', `must be ${example}`]];
}

/** Characters of values and alternatives that a message names. */
const mostNamed = 1_000;

/** A value of the text as a message names it: it may be a quarter of a megabyte, and the faults of many entries are kept. */
const quoted = (value: string): string => `"${shortened(value, mostNamed)}"`;

/** Characters of a pattern, and of what is said in its place: an entry breaks it a hundred times. */
const mostOfPattern = 300;
/** Characters of any message, whatever names a configuration gives. */
const longestMessage = mostNamed + mostOfPattern;
/** Characters of the pointers of all faults: of a key that is most of the file, too. */
const mostOfPointers = 64 * 1024;

function checkText(field: SchemaField, value: unknown, { patterns, files }: Lookups): Fault[] {
  if (typeof value !== 'string') return field.coerce ? none : [['type', 'must be text']];
  const bounded = field.min_length !== undefined || field.max_length !== undefined;
  const faults = bounded ? outside(lengthOf(value), field.min_length, field.max_length, '_length', 'character') : [];
  if (field.pattern !== undefined && patterns.get(field.pattern)?.(value) === false) {
    const message = field.editor?.pattern_message ?? `must match the pattern ${field.pattern}`;
    faults.push(['pattern', shortened(message, mostOfPattern)]);
  }
  const local = (field.type === 'image' || field.type === 'file') && !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(value);
  if (local && files && !files(value)) faults.push(['file', `${quoted(value)} is no file of the site`]);
  return faults;
}

function checkReference({ relation, coerce }: SchemaField, value: unknown, { references }: Lookups): Fault[] {
  // A reference may also be written as `{collection, id}` or `{collection, slug}`.
  const written = isRecord(value) ? value : null;
  if (typeof value !== 'string' && written === null) return coerce ? none : [['type', 'must name an entry']];
  const target = written === null ? value : (written.id ?? written.slug);
  if (relation === undefined || references === undefined || typeof target !== 'string') return none;
  if (references(relation.collection, target)) return none;
  return [['reference', `${quoted(target)} is no entry of "${relation.collection}"`]];
}

/** Alternatives, the first ones of many: `"a", "b", "c" and 200 more`. */
function named<T>(all: readonly T[], text: (one: T) => string, between: string): string {
  const shown: string[] = [];
  let room = mostNamed;
  for (const one of all) {
    const full = text(one);
    if (full.length > room && shown.length > 0) break;
    shown.push(shortened(full, room));
    room -= full.length + between.length;
  }
  const rest = all.length - shown.length;
  return shown.join(between) + (rest === 0 ? '' : ` and ${rest} more`);
}

/** `"a"`, or `one of "a", "b"`. */
const choice = (options: readonly unknown[]) =>
  (options.length > 1 ? 'one of ' : '') + named(options, (option) => String(JSON.stringify(option)), ', ');

/** What is made of a field once: lists have thousands of values, and fields thousands of options. */
function oncePerField<T>(make: (field: SchemaField) => T): (field: SchemaField) => T {
  const made = new WeakMap<SchemaField, { of: T }>();
  return (field) => {
    const known = made.get(field) ?? { of: make(field) };
    made.set(field, known);
    return known.of;
  };
}

const optionsOf = oncePerField(({ options }): ReadonlySet<unknown> => new Set(options));
const enumFault = oncePerField(({ options = [] }): Fault[] => [
  ['enum', options.length === 0 ? 'must be empty' : `must be ${choice(options)}`],
]);
const variantFault = oncePerField(({ variants = [] }): Fault[] => [
  ['variant', `must be ${named(variants, describe, ' or ')}`],
]);

/** What is wrong with a value of any type but `object`. */
function checkScalar(field: SchemaField, value: unknown, lookups: Lookups): Fault[] {
  switch (field.type) {
    case 'any':
    case 'json':
      return none;
    case 'number':
    case 'integer':
      return checkNumber(field, value);
    case 'boolean':
      return typeof value === 'boolean' || field.coerce ? none : [['type', 'must be true or false']];
    case 'date':
    case 'datetime':
      return checkDate(field, value);
    case 'enum':
      return field.coerce || optionsOf(field).has(value) ? none : enumFault(field);
    case 'reference':
      return checkReference(field, value, lookups);
    default:
      return checkText(field, value, lookups);
  }
}

/** Errors and warnings that a validation shows, of each. */
const MAX_FAULTS = 100;

/** What a validation collects, and what it may ask. */
interface Check extends Lookups {
  errors: FieldError[];
  warnings: FieldError[];
}

/** Adds faults while there is room for them, and for their pointers; the first one in any case. */
function add(faults: readonly FieldError[], to: FieldError[]): void {
  if (faults.length === 0 || to.length >= MAX_FAULTS) return;
  let left = mostOfPointers - to.reduce((sum, { field }) => sum + field.length, 0);
  for (const fault of faults.slice(0, MAX_FAULTS - to.length)) {
    left -= fault.field.length;
    if (left < 0 && to.length > 0) return;
    to.push(fault);
  }
}

const report = (faults: readonly Fault[], field: string, { errors }: Check) =>
  add(
    faults.map(([code, message]) => ({ field, code, message: shortened(message, longestMessage) })),
    errors,
  );

/** Checks done in steps: between them, all else can have its turn. */
type Steps = Iterable<void>;

/** Of a check that is over already. */
const noSteps: Steps = [];

/** Checks one value against its field and adds what is wrong: of a plain value at once, as lists have many of them. */
function checkValue(field: SchemaField, value: unknown, pointer: string, check: Check): Steps {
  if (value === null && field.nullable) return noSteps;
  if (!field.list) return checkItem(field, value, pointer, check);
  if (Array.isArray(value)) return checkList(field, value, pointer, check);
  if (!field.coerce) report([['type', 'must be a list']], pointer, check);
  return noSteps;
}

function* checkList(field: SchemaField, value: readonly unknown[], pointer: string, check: Check): Steps {
  report(outside(value.length, field.min_items, field.max_items, '_items', 'item'), pointer, check);
  for (const [at, item] of value.entries()) {
    yield* checkItem(field, item, `${pointer}/${at}`, check);
    yield;
  }
}

function checkItem(field: SchemaField, value: unknown, pointer: string, check: Check): Steps {
  if (field.variants) return checkVariants(field, field.variants, value, pointer, check);
  if (field.type !== 'object') report(checkScalar(field, value, check), pointer, check);
  else if (isRecord(value)) return checkKeys(field, value, pointer, check);
  else if (!field.coerce) report([['type', 'must be an object']], pointer, check);
  return noSteps;
}

function* checkKeys(field: SchemaField, value: Record<string, unknown>, pointer: string, check: Check): Steps {
  if (field.fields === undefined) return;
  const known = new Set<string>();
  for (const one of field.fields) {
    known.add(one.name);
    const at = pointerTo(pointer, one.name);
    if (Object.hasOwn(value, one.name)) yield* checkValue(one, value[one.name], at, check);
    else if (one.required) report([['required', 'is required']], at, check);
    yield;
  }
  if (!field.strict) return;
  for (const key of Object.keys(value)) {
    if (known.has(key)) continue;
    add([{ field: pointerTo(pointer, key), code: 'unknown_key', message: 'is not in the schema' }], check.warnings);
  }
}

/** One alternative must fit. Of objects discriminated by a constant, the faults are those of the alternative that was meant. */
function* checkVariants(
  field: SchemaField,
  variants: readonly SchemaField[],
  value: unknown,
  pointer: string,
  check: Check,
): Steps {
  let meant: Check | null = null;
  for (const variant of variants) {
    const attempt: Check = { ...check, errors: [], warnings: [] };
    yield* checkValue(variant, value, pointer, attempt);
    if (attempt.errors.length === 0) {
      add(attempt.warnings, check.warnings);
      return;
    }
    if (isMeant(variant, value)) meant ??= attempt;
    yield;
  }
  if (meant) add(meant.errors, check.errors);
  else report(variantFault(field), pointer, check);
}

function isMeant(variant: SchemaField, value: unknown): boolean {
  if (!isRecord(value) || variant.list) return false;
  const constants = variant.fields?.filter((one) => one.type === 'enum' && one.required) ?? [];
  return (
    constants.length > 0 &&
    constants.every((one) => Object.hasOwn(value, one.name) && optionsOf(one).has(value[one.name]))
  );
}

function describe(field: SchemaField): string {
  if (field.list) return 'a list';
  return field.type === 'enum' ? choice(field.options ?? []) : `a value of type ${field.type}`;
}

interface ValidationOptions {
  /** Whether an entry of a collection exists; absent: references are not checked. */
  references?: (collection: string, slug: string) => boolean;
  /** Whether a stored image or file path (relative, `/public` or alias) leads to a file; absent: not checked. */
  files?: (path: string) => boolean;
  /** JSON Pointer of the metadata inside the caller's input, such as `/frontmatter`. */
  prefix?: string;
}

interface Validation {
  errors: FieldError[];
  /** Unknown keys of strict schemas, patterns that cannot be checked, and every fault of an inferred schema. */
  warnings: FieldError[];
}

/** Pattern and pointer of each field that has one; a list is one step, `*`. */
function* patternsOf(fields: readonly SchemaField[], pointer: string): Generator<[string, string]> {
  for (const field of fields) {
    // A variant has no name of its own.
    const own = field.name === '' ? pointer : pointerTo(pointer, field.name);
    const at = field.list ? `${own}/*` : own;
    if (field.pattern !== undefined) yield [field.pattern, at];
    yield* patternsOf(field.fields ?? [], at);
    yield* patternsOf(field.variants ?? [], at);
  }
}

/** Checks what a file holds: an entry, or many by their names. */
function* checkFile(entry: SchemaField, holdsMany: boolean, value: unknown, pointer: string, check: Check): Steps {
  if (!holdsMany || typeof value !== 'object' || value === null) return yield* checkValue(entry, value, pointer, check);
  for (const [key, item] of Object.entries(value)) yield* checkValue(entry, item, pointerTo(pointer, key), check);
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
  let left = mostSteps;
  let room = mostInstructions;
  for (const [pattern, field] of patternsOf(schema.fields, prefix)) {
    const size = patternSize(pattern);
    const fits = size <= room;
    if (fits) room -= size;
    const known = fits ? await compilePattern(pattern) : null;
    const message = `the pattern ${pattern} cannot be checked`;
    let isUnchecked = false;
    const leaveOut = () => {
      if (!isUnchecked) add([{ field, code: 'pattern_unchecked', message }], check.warnings);
      isUnchecked = true;
    };
    if (known === null) leaveOut();
    else
      patterns.set(pattern, (text) => {
        const steps = known.size * text.length;
        if (steps <= left) {
          left -= steps;
          return known.test(text);
        }
        leaveOut();
        return true;
      });
  }
  const entry: SchemaField = {
    name: '',
    type: 'object',
    required: true,
    list: false,
    fields: schema.fields,
    strict: schema.strict,
  };
  const pace = new Pace();
  for (const _ of checkFile(entry, schema.items_in_file, frontmatter, prefix, check))
    if (pace.isDue) await pace.yield();
  const { errors, warnings } = check;
  if (schema.inferred) return { errors: [], warnings: [...errors, ...warnings].slice(0, MAX_FAULTS) };
  return { errors, warnings };
}
