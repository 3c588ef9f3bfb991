import { z } from 'zod';
import { addressOf, changeOf, displayName, machineName, oneLine, timestamp } from '../shapes.ts';

export const project = z
  .object({
    id: z.int32(),
    uuid: z.uuid(),
    name: z.string(),
    machine_name: z.string(),
    region: z.string().optional(),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'ProjectRecord' });

const region = oneLine(100);

export const projectChange = changeOf({
  name: displayName.optional(),
  region: region.nullish().describe('null removes it'),
});

/** An upstream given by a caller: https only, nothing secret in it. The address itself is checked when it is connected to. */
export const importUrl = z
  .string()
  .max(2000, 'must be at most 2000 characters')
  .regex(addressOf('https'), { error: 'must be an https URL', abort: true })
  .refine((text) => URL.canParse(text), 'must be an https URL')
  .regex(/^[^/]*\/\/[^/?#@]*(?:[/?#]|$)/, 'must not contain a user name or password');

export const projectDraft = z.object({
  name: displayName,
  machine_name: machineName.optional().describe('Made from the name when absent'),
  region: region.optional(),
  import_url: importUrl
    .optional()
    .describe('A git repository to begin with; progress: `import` of the repository record'),
});
