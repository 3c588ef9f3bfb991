import { z } from 'zod';
import { permissionNames } from './permissions.ts';

/** RFC 3339 UTC with milliseconds on the wire, a Date inside. */
export const timestamp = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});

export const machineNamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The slug of an organisation or project. */
export const machineName = z
  .string()
  .regex(machineNamePattern, 'must be 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit');

export const permissionName = z.enum(permissionNames).meta({ id: 'Permission' });

/** One line of text a person typed as a name. */
export const displayName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must be at most 200 characters')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not contain control characters');
