import { z } from 'zod';
import { machineName } from '../shapes.ts';

export const place = z
  .string()
  .min(1)
  .describe('Absolute path of the directory of a backup, on the machine of the server');

const counts = z.record(z.string(), z.int()).describe('Rows by table, refs');

export const backup = z.object({ directory: z.string(), bytes: z.int(), counts });

export const backupLabel = z.object({
  organization: z.string(),
  organization_name: z.string(),
  project: z.string(),
  made_at: z.string(),
  product_version: z.string(),
  counts,
});

export const restoreDraft = z.object({
  directory: place,
  restored_project: machineName.optional().describe('Machine name of the new project; default: as it was'),
});
