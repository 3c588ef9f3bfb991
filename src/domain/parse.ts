import { z } from 'zod';
import { DomainError, type FieldError, fieldError } from './errors.ts';

type Issue = z.core.$ZodIssue;

const article = (noun: string) => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);
const nouns: Record<string, string> = { int: 'integer', record: 'object', array: 'list' };
const noun = (type: string) => article(nouns[type] ?? type);

/** How zod begins what it says when a schema has no words of its own. */
const wordsOfZod = /^(Invalid (input|option|discriminator)|Too (small|big))\b/;

/** What is wrong, in words that follow the field's name: the schema's own, where it has some. */
export function faultOf(issue: Issue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is required';
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

/** A place as a JSON Pointer (RFC 6901). */
export const pointer = (path: readonly PropertyKey[]) =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Path of a key that JavaScript objects cannot hold as data: dropped without a word it would be lost from what is saved. */
function unholdable(value: unknown, path: PropertyKey[]): PropertyKey[] | null {
  if (value === null || typeof value !== 'object') return null;
  for (const [key, item] of Object.entries(value)) {
    const found = key === '__proto__' ? [...path, key] : unholdable(item, [...path, key]);
    if (found) return found;
  }
  return null;
}

/**
 * The input as it came, when every name in it can be kept.
 * @throws DomainError `invalid_request`
 */
export function holdable<T>(schema: z.ZodType, input: T): T {
  for (const [name, value] of Object.entries((input ?? {}) as object)) {
    // Names the schema does not know are ignored whole.
    const bad = schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name) ? unholdable(value, [name]) : null;
    if (bad) throw fieldError('invalid_request', bad.map(String).join('.'), 'is not a name that can be used');
  }
  return input;
}

/**
 * Reads an input by its schema.
 * @throws DomainError `invalid_request`; the message begins with the first faulty field's dotted name, `details.errors` holds all.
 */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  holdable(schema, input);
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return parsed.data;
  const errors: FieldError[] = parsed.error.issues.map((issue) => ({
    field: pointer(issue.path),
    code: 'invalid_request',
    message: faultOf(issue),
  }));
  const issue = parsed.error.issues[0];
  const name = issue?.path.map(String).join('.') || 'body';
  throw new DomainError('invalid_request', `${name}: ${errors[0]?.message ?? 'is not valid'}`, { details: { errors } });
}
