import { z } from 'zod';
import { withoutNul } from '../../shapes.ts';

const noText = { error: 'must be text without NUL', abort: true };

/**
 * A string that can be stored and sent: PostgreSQL and HTTP take no NUL, and no half of a surrogate pair, which JSON Schema has no words for.
 * @param problem what is said of anything that is no string
 */
export const plainText = (problem: string) =>
  z
    .string(problem)
    .regex(withoutNul, noText)
    .refine((text) => text.isWellFormed(), noText);

/** A field value of RFC 9110 5.5: one line of bytes, at most `max` of them. */
export const headerValue = (problem: string, max: number) =>
  z
    .string(problem)
    .max(max, problem)
    .regex(/^[\t\u0020-\u007e\u0080-\u00ff]*$/, problem);

const maxInteger = 2 ** 31 - 1;

/** An integer from `min` on that a column of 32 bits holds. @param max when there is one, `problem` names it */
export const integerFrom = (min: number, problem: string, max?: number) =>
  z
    .int(problem)
    .min(min, problem)
    .max(max ?? maxInteger, max === undefined ? `must be at most ${maxInteger}` : problem);
