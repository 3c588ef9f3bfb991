import { z } from 'zod';
import { goesAsItIs } from '../lib/long-output.ts';
import { isRecord } from '../lib/objects.ts';
import { normalized } from '../lib/text.ts';
import { type Preset, permissionNames, presets } from './actor.ts';
import { fieldError } from './errors.ts';

/** RFC 3339 UTC with milliseconds on the wire, a Date inside. PostgreSQL has no year 0. */
export const timestamp = z.codec(
  z.iso.datetime('must be a time such as 2026-03-01T08:00:00Z').regex(/^(?!0000)/, 'must be from the year 1 on'),
  z.date(),
  {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  },
);

/** A time on the wire that stays text inside: one that git or another host gave, with its offset. */
export const timeText = z.string().meta({ format: 'date-time' });

/** Whether a value is JSON through and through, seen without going down by calls. */
function isJson(value: unknown): boolean {
  const left: object[] = [];
  const mayBe = (item: unknown): boolean => {
    if (item === null || typeof item === 'string' || typeof item === 'boolean') return true;
    if (typeof item === 'number') return Number.isFinite(item);
    if (typeof item !== 'object' || !(Array.isArray(item) || z.core.util.isPlainObject(item))) return false;
    left.push(item);
    return true;
  };
  if (!mayBe(value)) return false;
  for (let next = left.pop(); next; next = left.pop())
    if (!(Array.isArray(next) ? next : Object.values(next)).every(mayBe)) return false;
  return true;
}

/**
 * Has a schema look at a value in one walk: zod tries six shapes for each value within, which holds everything up for half a second where there
 * are 100,000. The same of its copies: to describe one is to copy it.
 */
function inOneWalk(schema: z.ZodJSONSchema): z.ZodJSONSchema {
  schema._zod.run = schema._zod.parse = (payload) => {
    const { value: input } = payload;
    if (!isJson(input)) payload.issues.push({ code: 'invalid_union', errors: [], input, inst: schema });
    return payload;
  };
  goesAsItIs.add(schema);
  const { clone } = schema;
  schema.clone = (...given) => inOneWalk(clone(...given) as z.ZodJSONSchema) as never;
  return schema;
}

/** Any JSON value. Registered itself and not a copy, because it leads back to itself. */
export const jsonValue = inOneWalk(z.json().register(z.globalRegistry, { id: 'JsonValue' }));

export const machineNamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The slug of an organisation or project. */
export const machineName = z
  .string()
  .regex(machineNamePattern, 'must be 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit');

export const permissionName = z.enum(permissionNames).meta({ id: 'Permission' });

/** Shared by tokens and members. */
export const rolePreset = z
  .enum(Object.keys(presets) as [Preset, ...Preset[]])
  .meta({ id: 'Role', description: 'A named set of permissions, copied when it is given' });

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const printable = /^[^\u0000-\u001f\u007f\ud800-\udfff]*$/u;

/** The same without what turns the direction of the text around it, and would let one name be read as another. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const unturned = /^[^\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069\ud800-\udfff]*$/u;

function faultOf(text: string): string {
  if (!text.isWellFormed()) return 'must be well-formed Unicode; it has half of a surrogate pair';
  return printable.test(text)
    ? 'must not contain characters that turn the direction of text: U+202A to U+202E, U+2066 to U+2069'
    : 'must not contain control characters';
}

/** One line of text: control characters would break lines apart, and PostgreSQL stores neither NUL nor half of a surrogate pair. */
export const oneLine = (max: number, pattern = printable) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    .regex(pattern, { error: ({ input }) => faultOf(String(input)) });

/** Text without NUL, which PostgreSQL and the environment of a process cannot hold. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is refused
export const withoutNul = /^[^\x00]*$/;

/** Text that something is looked up by in the database: PostgreSQL fails over NUL instead of finding nothing. */
export const lookedUp = z.string().regex(withoutNul, 'must not contain NUL');

/** Text of any lines that the database stores, or looks something up by; PostgreSQL has no NUL. */
export const storedText = (max: number) =>
  z.string().max(max, `must be at most ${max} characters`).regex(withoutNul, 'must not contain NUL');

/** A pattern for a word in letters of either case: JSON Schema has no flags. */
export const anyCase = (word: string): string =>
  word.replace(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);

const addressWith = (schemes: string, enders: string) =>
  new RegExp(`^(?:${anyCase(schemes)})://[^${enders}]+(?:[/?#]|$)`);

/**
 * An absolute address that names a host (RFC 3986 3.2). White space and backslashes, which the URL Standard would read over or as slashes, end
 * no host here, so that other readers of the address find the same one.
 * @param schemes a pattern, such as `https?`
 */
export const addressOf = (schemes: string): RegExp => addressWith(schemes, '\\s\\\\/?#');
/** The same without a user name and password. */
export const openAddressOf = (schemes: string): RegExp => addressWith(schemes, '\\s\\\\/?#@');

/** One line of text a person typed as a name. */
export const displayName = oneLine(200, unturned);

const webFault = 'must be an http or https URL';
/** A link to the web, of at most 2000 characters. A check of a pattern would take the place of the format in the description. */
export const webUrl = z
  .url({ protocol: /^https?$/, error: webFault, abort: true })
  .max(2_000)
  .regex(addressOf('https?'), webFault)
  .meta({ format: 'uri' });

const changes = z.registry<{ clearable: readonly string[] }>();

/**
 * The input of a command that changes a configuration record. Empty text takes a field away as null does, so that what a form sends is understood;
 * fields that null does not take away read it literally.
 * @param literal fields in which empty text is a value of its own
 */
export function changeOf<S extends z.ZodRawShape>(
  shape: S,
  literal: readonly (keyof S & string)[] = [],
): z.ZodObject<S> {
  const fields = Object.entries(shape) as [string, z.ZodType][];
  const clearable = fields.filter(([name, field]) => field.safeParse(null).success && !literal.includes(name as never));
  const described = clearable.map(([name, field]) => {
    const text = field.description;
    return [name, field.describe(`${text === undefined ? '' : `${text}. `}Empty text is read as null`)];
  });
  const made = z.object({ ...shape, ...Object.fromEntries(described) }) as z.ZodObject<S>;
  changes.add(made, { clearable: clearable.map(([name]) => name) });
  return made;
}

/** An input with null for what empty text takes away (`changeOf`). */
export function withCleared(schema: z.ZodType, input: unknown): unknown {
  const { clearable } = changes.get(schema) ?? {};
  if (!clearable || input === null || typeof input !== 'object') return input;
  const empty = clearable.filter((name) => (input as Record<string, unknown>)[name] === '');
  return empty.length === 0 ? input : { ...input, ...Object.fromEntries(empty.map((name) => [name, null])) };
}

const free = z.registry<{ free: true }>();

/** Whether a schema passes its value on as it is, so that every name in it is kept. */
export const isFree = (schema: z.core.$ZodType): boolean => free.has(schema) || free.get(schema)?.free === true;

/**
 * An object whose names are the caller's own data: `__proto__` is one like any other, which `z.record` would drop. The value is passed
 * on as it is.
 */
export const freeObject = z
  .unknown()
  .refine(isRecord, { error: ({ input }) => (input === undefined ? 'is required' : 'must be an object') })
  .meta({ type: 'object', additionalProperties: {} });
free.add(freeObject, { free: true });

/** What `JSON.stringify` writes for NUL and for half of a surrogate pair, none of which PostgreSQL keeps; a backslash itself it writes as two. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** The same, kept by the database. */
export const storedObject = freeObject.refine((value) => !unstorable.test(JSON.stringify(value)), {
  error: 'must contain neither NUL nor half of a surrogate pair',
  when: ({ issues }) => issues.length === 0,
});
free.add(storedObject, { free: true });

/** A value that is the caller's own data, whatever names its objects have. */
export const freeValue = z.unknown();
free.add(freeValue, { free: true });

/** One fault of one field, as in `details.errors` of a refusal. */
export const fieldFault = z
  .object({
    field: z.string().describe('JSON Pointer (RFC 6901) into the input'),
    code: z.string(),
    message: z.string(),
    line: z.int32().optional(),
    column: z.int32().optional(),
  })
  .meta({ id: 'FieldError' });

/**
 * The machine name a person's words give: accents dropped, everything but letters and digits becomes `-`.
 * @throws DomainError `invalid_request` when nothing is left; the caller then has to name one.
 */
export function machineNameFrom(name: string): string {
  const slug = normalized(name, 'NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  if (!machineNamePattern.test(slug)) {
    throw fieldError(
      'invalid_request',
      'machine_name',
      'is required, because the name has no letter or digit to make one from',
    );
  }
  return slug;
}

/** JSON Schema draft 2020-12, the dialect of OpenAPI 3.1 and of tools of the Model Context Protocol. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const int32Range = 2 ** 31;

/** RFC 3339, of which `timestamp` takes only UTC and the years PostgreSQL can hold. */
const instant = { type: 'string', format: 'date-time', pattern: '^(?!0000).*Z$' } as const;

/** Leaves out what a reader does not need: the bounds of the number type, and patterns that a `format` already names. */
function plain(zodSchema: z.core.$ZodType, schema: JsonSchema): void {
  const { type, format } = zodSchema._zod.def as { type: string; format?: string };
  if (type === 'string' && format === 'datetime') {
    delete schema.allOf;
    Object.assign(schema, instant);
  }
  // Readers of one branch of `allOf` alone would take it for any value.
  if (type === 'string') for (const each of schema.allOf ?? []) if (typeof each === 'object') each.type = 'string';
  // The value an absent one stands for, in full; zod gives what it would be made from.
  if (type === 'prefault') schema.default = z.safeParse(zodSchema, undefined).data as never;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === -int32Range) delete schema.minimum;
  if (schema.maximum === int32Range - 1) {
    schema.format = 'int32';
    delete schema.maximum;
  }
  if (schema.format === 'uuid') delete schema.pattern;
  // A name of zod's own for what the pattern says.
  if (schema.format === 'starts_with') delete schema.format;
  // Every name in JSON is a string.
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

/** The JSON Schema of what goes on the wire: the input side of a codec, in answers too. Schemas with an `id` stand below `$defs`. */
export const jsonSchemaOf = (schema: z.core.$ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => plain(zodSchema, jsonSchema),
  }) as JsonSchema;
