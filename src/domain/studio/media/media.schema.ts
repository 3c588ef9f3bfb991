import { z } from 'zod';
import { writeInput } from '../entries/entries.schema.ts';
import { commit, lfsPointer } from '../repository/repository.schema.ts';

const fields = {
  path: z.string().describe('Path in the repository'),
  name: z.string(),
  type: z.enum(['file', 'dir']),
  mime: z.string().optional(),
  size: z.int().optional().describe('Bytes'),
  sha: z.string(),
  public_path: z.string().optional().describe('URL path the site uses for it'),
  link: z
    .string()
    .optional()
    .describe('What the text of any entry names it by; without it, an entry names it by the path from its own file'),
  width: z.int32().optional().describe('Pixels'),
  height: z.int32().optional().describe('Pixels'),
  lfs: lfsPointer.optional(),
};

export const media = z.object(fields).meta({ id: 'Media' });

export const savedMedia = z
  .object({ ...fields, commit: commit.nullable(), unchanged: z.boolean() })
  .meta({ id: 'SavedMedia' });

export const mediaKind = z.enum(['image', 'video', 'audio', 'document', 'other']).meta({ id: 'MediaKind' });

export const mediaUpload = z.object({
  path: z
    .string()
    .optional()
    .describe('JSON: path of the file, inside a media root. Multipart: directory of the files'),
  content: z.base64('must be base64').optional().describe('JSON only: the file, base64; up to 25 MiB'),
  overwrite: z.boolean().optional().describe('Replace a file that is there'),
  rename: z.boolean().optional().describe('Append -1, -2 … to a name that is taken'),
  sha: z.string().optional().describe('With overwrite: object id the replaced file must have'),
  ...writeInput,
});
