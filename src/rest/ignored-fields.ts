/**
 * Names of a request that its operation does not declare. They are ignored, and the caller can see that they were: all answers have them in
 * `X-Ignored-Fields`, those of commands that are objects in `warnings` too, and with `Prefer: handling=strict` the request is refused.
 */
import { z } from 'zod';
import { DomainError, type FieldError } from '../kernel/errors.ts';
import { pointer } from '../lib/json-pointer.ts';
import { isRecord } from '../lib/objects.ts';

import { unwrap } from './input.ts';

/** As many names are shown, and as many bytes of them in the header. */
const maxNames = 20;
const maxBytes = 1024;

/** What an operation makes nothing of. */
export interface IgnoredFields {
  /** The first ones in the order of their names. */
  fields: { name: string; path: readonly PropertyKey[] }[];
  /** All of them. */
  count: number;
}

/** The member of a discriminated union that a value is. */
function chosen(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  const { discriminator, options = [] } = schema._zod.def as { discriminator?: string; options?: z.core.$ZodType[] };
  if (discriminator === undefined || value === null || typeof value !== 'object') return schema;
  const kind = (value as Record<string, z.core.util.Primitive>)[discriminator];
  return options.find((option) => option._zod.propValues?.[discriminator]?.has(kind)) ?? schema;
}

/** Percent-encodes what could break a list of names apart, or a header. */
function encode(name: string): string {
  if (/^[A-Za-z0-9_.[\]-]*$/.test(name)) return name;
  return [...Buffer.from(name)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9_.[\]-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** Keeps the first names in order out of any number, so that half a million cost no sorting and twenty are encoded. */
class FirstNames {
  readonly #first: { text: string; path: readonly PropertyKey[] }[] = [];
  #count = 0;

  add(parent: readonly PropertyKey[], key: string): void {
    this.#count += 1;
    // A longer name fits nowhere whole: its beginning identifies it.
    const path = [...parent, key.slice(0, maxBytes)];
    const text = path.map(String).join('.');
    const last = this.#first.at(-1);
    if (this.#first.length === maxNames && last && text >= last.text) return;
    const at = this.#first.findIndex((field) => text < field.text);
    this.#first.splice(at === -1 ? this.#first.length : at, 0, { text, path });
    if (this.#first.length > maxNames) this.#first.pop();
  }

  shown(): IgnoredFields {
    return { fields: this.#first.map(({ text, path }) => ({ name: encode(text), path })), count: this.#count };
  }
}

/** A value of the input that is still to be looked through. */
interface Pending {
  schema: z.core.$ZodType;
  value: object;
  path: readonly PropertyKey[];
}

/**
 * Fields of an input that its schema does not declare, at every depth; each name is checked once.
 * @param inPath names the path gives, which are known whether the schema declares them or not
 */
export function ignoredFields(
  schema: z.ZodObject,
  input: Record<string, unknown>,
  inPath: readonly string[] = [],
): IgnoredFields {
  const found = new FirstNames();
  const left: Pending[] = [{ schema, value: input, path: [] }];
  const visit = (field: z.core.$ZodType, value: unknown, path: readonly PropertyKey[], key: PropertyKey) => {
    if (value !== null && typeof value === 'object') left.push({ schema: field, value, path: [...path, key] });
  };
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, path } = next;
    const def = chosen(unwrap(next.schema), value)._zod.def as {
      type: string;
      shape?: Record<string, z.core.$ZodType>;
      element?: z.core.$ZodType;
    };
    if (Array.isArray(value)) {
      if (def.element) for (const [index, item] of value.entries()) visit(def.element, item, path, index);
      continue;
    }
    // Records, unions of any shapes and free values have no unknown fields.
    if (def.type !== 'object' || !def.shape) continue;
    for (const name of Object.keys(value)) {
      const field = Object.hasOwn(def.shape, name) ? def.shape[name] : undefined;
      if (field) visit(field, (value as Record<string, unknown>)[name], path, name);
      else if (path.length > 0 || !inPath.includes(name)) found.add(path, name);
    }
  }
  return found.shown();
}

/** The input without undeclared top-level names: no later code checks them again. `inPath` as of `ignoredFields`. */
export function knownPart(
  schema: z.ZodObject,
  input: Record<string, unknown>,
  inPath: readonly string[] = [],
): Record<string, unknown> {
  const known: Record<string, unknown> = Object.create(null);
  for (const name of new Set([...inPath, ...Object.keys(schema.shape)]))
    if (Object.hasOwn(input, name) && input[name] !== undefined) known[name] = input[name];
  return known;
}

/**
 * Value of `X-Ignored-Fields`; null when there is nothing to say.
 * @param idle fields that are known and have no effect in this request
 */
export function ignoredHeader({ fields }: IgnoredFields, idle: readonly string[] = []): string | null {
  const names = [...fields.map(({ name }) => name), ...idle].sort();
  let header = '';
  for (const name of names.slice(0, maxNames)) {
    const next = header ? `${header},${name}` : name;
    if (next.length > maxBytes) break;
    header = next;
  }
  return header || null;
}

const unknownText = 'is not a field of this request';

/** The same as warnings, in the shape of `details.errors`. */
export const ignoredWarnings = ({ fields }: IgnoredFields, idle: readonly string[] = []): FieldError[] => [
  ...fields.map(({ path }) => ({ field: pointer(path), code: 'ignored', message: `${unknownText} and was ignored` })),
  ...idle.map((name) => ({ field: pointer([name]), code: 'ignored', message: 'has no effect here and was ignored' })),
];

/** What a command's answer may hold beside its output, for the description of the interface. */
export const withIgnored = z
  .object({
    warnings: z
      .array(
        z.object({
          field: z.string().optional().describe('JSON Pointer (RFC 6901) into the request'),
          code: z.string().describe('`ignored`: the field is not known, or has no effect here'),
          message: z.string(),
        }),
      )
      .optional()
      .describe('Also names what the request had and the service ignored'),
  })
  .meta({ id: 'IgnoredFields' });

/** A command's answer with the warnings beside what it has of its own. Lists stay as they are. */
export function withWarnings(body: unknown, warnings: readonly FieldError[]): unknown {
  if (warnings.length === 0 || !isRecord(body)) return body;
  const own = (body as { warnings?: unknown }).warnings;
  return { ...body, warnings: [...(Array.isArray(own) ? own : []), ...warnings] };
}

/** Whether a request forbids ignored fields (RFC 7240, 4.4). */
export const isStrict = (prefer: string | undefined): boolean =>
  (prefer ?? '').split(',').some((preference) => /^\s*handling\s*=\s*"?strict"?\s*(;|$)/i.test(preference));

/** @throws DomainError `invalid_request` that names the fields, when there are any */
export function refuseIgnored({ fields, count }: IgnoredFields): void {
  const [first] = fields;
  if (!first) return;
  const more = count > 1 ? ` (and ${count - 1} more)` : '';
  const message = `${first.name.slice(0, 200)}: ${unknownText}${more}; remove it, or send no Prefer: handling=strict`;
  const errors = fields.map(({ path }) => ({ field: pointer(path), code: 'unknown_field', message: unknownText }));
  throw new DomainError('invalid_request', message, { details: { errors } });
}
