import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';

/** Beside the id of an actor in a record. */
export const actorName = z
  .string()
  .nullable()
  .describe('Null when there is no record of it any more, or none with a name');

const kinds = ['user', 'token', 'workflow'] as const;

/** Each id is looked up by its primary key; names of tokens and workflows are those of one organisation. */
const sql = `
  select 'user:' || id as actor, name from "user" where id = any(string_to_array(?, ' ')::int[])
  union all
  select 'token:' || id, name from token where id = any(string_to_array(?, ' ')::int[]) and organization_id = ?
  union all
  select 'workflow:' || workflow.id, workflow.name from workflow join project on project.id = workflow.project_id
    where workflow.id = any(string_to_array(?, ' ')::uuid[]) and project.organization_id = ?`;

const shapes = { user: /^\d{1,9}$/, token: /^\d{1,9}$/, workflow: /^[0-9a-f-]{36}$/ };

/**
 * Names by the ids of actors (`user:3`), for what people read: of persons, of tokens also when they are revoked, of workflows.
 *
 * @returns what finds one; null for an id whose record is gone, or has no name, such as `system:<job>`
 */
export async function actorNames(
  { em, organization }: { em: EntityManager; organization: { id: number } },
  actors: Iterable<string | null | undefined>,
): Promise<(actor: string | null | undefined) => string | null> {
  const keys: Record<(typeof kinds)[number], Set<string>> = { user: new Set(), token: new Set(), workflow: new Set() };
  for (const actor of actors) {
    const [kind, key = ''] = actor?.split(':') ?? [];
    const known = kinds.find((each) => each === kind);
    if (known && shapes[known].test(key)) keys[known].add(key);
  }
  const [users = '', tokens = '', workflows = ''] = kinds.map((kind) => [...keys[kind]].join(' '));
  const isEmpty = users + tokens + workflows === '';
  const rows = isEmpty
    ? []
    : await em.execute<{ actor: string; name: string }[]>(sql, [
        users,
        tokens,
        organization.id,
        workflows,
        organization.id,
      ]);
  const names = new Map(rows.map(({ actor, name }) => [actor, name]));
  return (actor) => names.get(actor ?? '') ?? null;
}
