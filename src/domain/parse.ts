import type { z } from 'zod';
import { DomainError, type FieldError } from './errors.ts';

type Issue = z.core.$ZodIssue;

const article = (noun: string) => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);
const nouns: Record<string, string> = { int: 'integer', record: 'object', array: 'list' };
const noun = (type: string) => article(nouns[type] ?? type);

/** What is wrong, in words that follow the field's name. */
function sentence(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${noun(issue.expected)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.message.startsWith('Too small')
        ? `must be at least ${issue.minimum}${unit(issue.origin)}`
        : issue.message;
    case 'too_big':
      return issue.message.startsWith('Too big')
        ? `must be at most ${issue.maximum}${unit(issue.origin)}`
        : issue.message;
    case 'invalid_union':
      return 'has none of the allowed shapes';
    default:
      return issue.message;
  }
}

function unit(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' || origin === 'set' ? ' items' : '';
}

const pointer = (path: readonly PropertyKey[]) =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/**
 * Reads an input by its schema.
 * @throws DomainError `invalid_request`; the message begins with the first faulty field's dotted name, `details.errors` holds all.
 */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return parsed.data;
  const errors: FieldError[] = parsed.error.issues.map((issue) => ({
    field: pointer(issue.path),
    code: 'invalid_request',
    message: sentence(issue),
  }));
  const issue = parsed.error.issues[0];
  const name = issue?.path.map(String).join('.') || 'body';
  throw new DomainError('invalid_request', `${name}: ${errors[0]?.message ?? 'is not valid'}`, { details: { errors } });
}
