import { z } from 'zod';
import { timestamp } from '../../../kernel/shapes.ts';

export const draft = z
  .object({
    owner: z
      .object({ id: z.string().describe('`user:<id>`, `token:<id>` …'), name: z.string() })
      .meta({ id: 'DraftOwner' }),
    own: z.boolean().describe('Whether the caller is its owner'),
    base: z.string().describe('Branch it was begun on'),
    title: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Draft' });
