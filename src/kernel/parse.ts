import { z } from 'zod';
import { pointer } from '../lib/json-pointer.ts';
import { DomainError, type FieldError, fieldError } from './errors.ts';
import { measureValues } from './json-input.ts';
import { isFree } from './shapes.ts';

type Issue = z.core.$ZodIssue;

const article = (noun: string) => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);
const nouns: Record<string, string> = { int: 'integer', record: 'object', array: 'list' };
const noun = (type: string) => article(nouns[type] ?? type);

/** How zod begins what it says when a schema has no words of its own. */
const wordsOfZod = /^(Invalid (input|option|discriminator)|Too (small|big))\b/;

/** What is wrong, in words that follow the field's name: the schema's own, where it has some. */
export function faultOf(issue: Issue): string {
  const mayBeMissing = issue.code === 'invalid_type' || issue.code === 'invalid_union';
  if (mayBeMissing && issue.input === undefined) return 'is required';
  if (!wordsOfZod.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${noun(issue.expected)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `must be at least ${issue.minimum}${unit(issue.origin)}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${unit(issue.origin)}`;
    case 'invalid_union':
      // One of a kind that its own field names.
      if ('options' in issue && Array.isArray(issue.options)) return `must be one of ${issue.options.join(', ')}`;
      return 'has none of the allowed shapes';
    default:
      return issue.message;
  }
}

function unit(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' || origin === 'set' ? ' items' : '';
}

type Schema = z.core.$ZodType;

/** What the definitions of schemas with schemas inside have in common; only some hold each. */
interface Definition {
  innerType?: Schema;
  in?: Schema;
  element?: Schema;
  valueType?: Schema;
  options?: Schema[];
}

/**
 * Finds a key `__proto__` that the schema would drop in silence. Free values keep theirs; names that an object does not know are ignored
 * whole; of a union every option is tried.
 * @param path where `value` stands; names the key when true is returned
 */
function losesKey(schema: Schema | undefined, value: unknown, path: string[]): boolean {
  if (value === null || typeof value !== 'object' || (schema && isFree(schema))) return false;
  const { innerType, in: wire, element, valueType, options } = (schema?._zod.def ?? {}) as Definition;
  const inner = innerType ?? wire;
  if (inner) return losesKey(inner, value, path);
  if (options) return options.some((option) => losesKey(option, value, path));
  const shape = schema instanceof z.ZodObject ? (schema.shape as Record<string, Schema>) : null;
  for (const key of Object.keys(value)) {
    if (shape && !Object.hasOwn(shape, key)) continue;
    path.push(key);
    if (
      key === '__proto__' ||
      losesKey(shape ? shape[key] : (element ?? valueType), (value as Record<string, unknown>)[key], path)
    )
      return true;
    path.pop();
  }
  return false;
}

/**
 * Refuses an input that is beyond the limits, or with a name in it that cannot be kept. Names the schema does not know are ignored whole.
 * @returns how many values its fields hold
 * @throws DomainError `invalid_request`
 */
export function checkInput(schema: z.ZodType, input: unknown): number {
  const shape: object | null = schema instanceof z.ZodObject ? schema.shape : null;
  // First of all: what follows goes down by calls.
  const { values, hasProto } = measureValues(input ?? {}, (name) => shape === null || Object.hasOwn(shape, name));
  const path: string[] = [];
  if (hasProto && losesKey(schema, input, path))
    throw fieldError('invalid_request', path.join('.'), 'is not a name that can be used');
  return values;
}

/** Characters a text may have beyond its largest length and still be judged whole: space around it may be cut off first. */
const spare = 1_000;
/** Faults that an answer names. */
const maxErrors = 100;

/**
 * The top of an input with texts that are far too long cut to what shows that they are: patterns and other checks of a field run
 * whatever its length, and may take their time with it.
 */
function shortened(schema: z.ZodType, input: unknown): unknown {
  if (!(schema instanceof z.ZodObject) || input === null || typeof input !== 'object') return input;
  let copy: Record<string, unknown> | null = null;
  for (const [name, field] of Object.entries<z.core.$ZodType>(schema.shape)) {
    const value: unknown = (input as Record<string, unknown>)[name];
    const most = typeof value === 'string' ? longest(field) : undefined;
    if (typeof value !== 'string' || most === undefined || value.length <= most + spare) continue;
    copy ??= { ...input };
    copy[name] = 'x'.repeat(most + 1);
  }
  return copy ?? input;
}

/** Most characters of a text field; undefined: it has no such bound. */
function longest(schema: z.core.$ZodType): number | undefined {
  const { innerType, in: source } = schema._zod.def as { innerType?: z.core.$ZodType; in?: z.core.$ZodType };
  const inner = innerType ?? source;
  if (inner) return longest(inner);
  const { maximum } = schema._zod.bag as { maximum?: number };
  return schema._zod.def.type === 'string' ? maximum : undefined;
}

/**
 * Reads an input by its schema.
 * @throws DomainError `invalid_request`; the message begins with the first faulty field's dotted name, `details.errors` holds the first 100.
 */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  checkInput(schema, input);
  return parseChecked(schema, input);
}

/** Reads an input that has passed `checkInput`. @throws DomainError as `parseInput` does */
export function parseChecked<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(shortened(schema, input), { reportInput: true });
  if (parsed.success) return parsed.data;
  const errors: FieldError[] = parsed.error.issues.slice(0, maxErrors).map((issue) => ({
    field: pointer(issue.path),
    code: 'invalid_request',
    message: faultOf(issue),
  }));
  const issue = parsed.error.issues[0];
  const name = issue?.path.map(String).join('.') || 'body';
  throw new DomainError('invalid_request', `${name}: ${errors[0]?.message ?? 'is not valid'}`, { details: { errors } });
}
