import { defineEntity, type EntityManager, type InferEntity, p } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';

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

/**
 * Keeps an organisation from being deleted until the transaction of `em` ends, so that what is made in it is there before, and ended with it.
 * @throws DomainError `not_found` when it is deleted
 */
export async function holdOrganization(em: EntityManager, id: number): Promise<void> {
  // The lock of a foreign key: it keeps nothing back but a deletion, and changes of members.
  const held = await em.execute<unknown[]>(
    'select 1 from organization where id = ? and deleted_at is null for key share',
    [id],
  );
  if (held.length === 0) throw new DomainError('not_found', 'Organisation not found');
}
