import { z } from 'zod';
import { changeOf, displayName, machineName, oneLine, timestamp } from '../shapes.ts';

const limits = z
  .object({
    crawl_max_html: z.int().min(0).optional(),
    crawl_bytes: z.int().min(0).optional(),
    workflow_backlog: z.int().min(0).max(10_000_000).optional(),
    execution_days: z.int().min(1).max(3650).optional(),
  })
  .meta({ id: 'OrganizationLimits' });

export const organization = z
  .object({
    name: z.string().describe('Organisation name'),
    machine_name: z.string().describe('Organisation machine name (slug)'),
    type: z.string().optional().describe('Organisation type'),
    region: z.string().optional().describe('Organisation region'),
    subscription: z.string().optional().describe('Subscription type'),
    created_at: timestamp.optional(),
    updated_at: timestamp.optional(),
    limits: limits
      .optional()
      .describe(
        'Caps of this organisation; only for callers with manage_organization who are not confined to projects',
      ),
  })
  .meta({ id: 'Organization' });

export const organizationSummary = organization
  .pick({ name: true, machine_name: true })
  .meta({ id: 'OrganizationSummary' });

const attribute = oneLine(100);
const changed = attribute.nullish().describe('null removes it');

export const organizationChange = changeOf({
  name: displayName.optional(),
  type: changed,
  region: changed,
  subscription: changed,
  limits: limits.optional().describe('Only an instance admin may set them'),
});

export const organizationDraft = organizationChange.extend({
  type: attribute.optional(),
  region: attribute.optional(),
  subscription: attribute.optional(),
  name: displayName,
  machine_name: machineName.optional().describe('Made from the name when absent'),
});
