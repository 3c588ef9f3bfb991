import { z } from 'zod';
import { permissionNames } from './permissions.ts';

/** RFC 3339 UTC with milliseconds on the wire, a Date inside. PostgreSQL has no year 0. */
export const timestamp = z.codec(
  z.iso.datetime('must be a time such as 2026-03-01T08:00:00Z').regex(/^(?!0000)/, 'must be from the year 1 on'),
  z.date(),
  {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  },
);

export const machineNamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The slug of an organisation or project. */
export const machineName = z
  .string()
  .regex(machineNamePattern, 'must be 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit');

export const permissionName = z.enum(permissionNames).meta({ id: 'Permission' });

/** One line of text: control characters would break lines apart, and PostgreSQL stores no NUL. */
export const oneLine = (max: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
    .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not contain control characters');

/** Text of any lines; PostgreSQL stores no NUL. */
export const storedText = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .refine((text) => !text.includes('\u0000'), 'must not contain NUL');

/** One line of text a person typed as a name. */
export const displayName = oneLine(200);

/** One fault of one field, as in `details.errors` of a refusal. */
export const fieldFault = z
  .object({
    field: z.string().describe('JSON Pointer (RFC 6901) into the input'),
    code: z.string(),
    message: z.string(),
    line: z.int().optional(),
    column: z.int().optional(),
  })
  .meta({ id: 'FieldError' });
