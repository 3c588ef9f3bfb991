import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** Caps an instance admin sets for one organisation. */
export interface OrganizationLimits {
  crawl_max_html?: number;
  crawl_bytes?: number;
  workflow_backlog?: number;
  execution_days?: number;
  assistant_tokens_month?: number;
  assistant_days?: number;
}

export const Organization = defineEntity({
  name: 'Organization',
  tableName: 'organization',
  properties: {
    id: p.integer().primary().autoincrement(),
    /** Of no other that is not deleted. */
    machine_name: p.text(),
    name: p.text(),
    type: p.text().nullable(),
    region: p.text().nullable(),
    subscription: p.text().nullable(),
    limits: p.json<OrganizationLimits>().defaultRaw("'{}'"),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    deleted_at: p.datetime(3).nullable(),
  },
});
export type Organization = InferEntity<typeof Organization>;

/** What every operation of an organisation knows of it: its row, as the grant cache holds it. */
export type OrganizationRef = Readonly<
  Pick<
    Organization,
    'id' | 'machine_name' | 'name' | 'type' | 'region' | 'subscription' | 'limits' | 'created_at' | 'updated_at'
  >
>;
