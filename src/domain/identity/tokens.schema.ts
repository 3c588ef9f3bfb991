import { z } from 'zod';
import { displayName, machineName, permissionName, timestamp } from '../shapes.ts';

const preset = z
  .enum(['owner', 'admin', 'editor', 'readonly'])
  .meta({ id: 'TokenPreset', description: 'A named set of permissions, copied when the token is made' });

export const tokenDraft = z.object({
  name: displayName,
  permissions: z
    .array(permissionName)
    .min(1, 'must name at least one permission')
    .max(14)
    .optional()
    .describe('Excludes `preset`'),
  preset: preset.optional().describe('Excludes `permissions`'),
  projects: z
    .array(machineName)
    .min(1, 'must name at least one project, or be absent')
    .max(1000)
    .optional()
    .describe('Machine names; absent: all, later ones included'),
  expires_in: z.enum(['30d', '90d', '365d', 'never']).default('90d').describe('Default 90d'),
});

const common = {
  id: z.int32(),
  name: z.string(),
  permissions: z.array(permissionName),
  projects: z.array(z.string()).nullable().describe('Machine names; null: all'),
  preset: preset.nullable(),
  expires_at: timestamp.nullable(),
};

export const apiToken = z
  .object({
    ...common,
    last4: z.string().describe('Last four characters of the token'),
    last_used: timestamp.nullable(),
    created_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'ApiToken' });

export const createdToken = z
  .object({ token: z.string().describe('Shown here only'), ...common, created_at: timestamp })
  .meta({ id: 'CreatedToken' });

export const revokedToken = z.object({ message: z.string() }).meta({ id: 'RevokedToken' });
