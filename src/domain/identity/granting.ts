/** What tokens and members have in common: rights that one caller gives to another, confined to projects or not. */
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Grant, Permission } from '../../kernel/actor.ts';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { machineName } from '../../kernel/shapes.ts';
import { Project } from '../projects/project.entity.ts';

/** The projects that rights are confined to, as a caller names them. */
export const confinement = z
  .array(machineName)
  .min(1, 'must name at least one project, or be absent')
  .max(1000)
  .optional()
  .describe('Machine names; absent: all, later ones included');

/** A caller grants no more than they have. @throws DomainError `forbidden` */
export function requireHeld(grant: Grant, permissions: readonly Permission[]): void {
  const lacking = permissions.find((name) => !grant.permissions.has(name));
  if (lacking) throw new DomainError('forbidden', `permissions: you lack ${lacking} and cannot grant it`);
}

/**
 * Ids of projects by their names; null, which means all, stays null.
 * @throws DomainError `invalid_request` for a name that no project of the organisation has
 */
export async function projectIds(
  em: EntityManager,
  organization: { id: number },
  named: readonly string[] | null,
): Promise<number[] | null> {
  if (named === null) return null;
  const names = [...new Set(named)];
  const rows = await em.find(Project, {
    organization_id: organization.id,
    machine_name: { $in: names },
    deleted_at: null,
  });
  const unknown = names.find((name) => !rows.some((row) => row.machine_name === name));
  if (unknown !== undefined)
    throw fieldError('invalid_request', 'projects', `${unknown} is not a project of this organisation`);
  return rows.map((row) => row.id);
}

interface ConfinedRow {
  projects?: readonly number[] | null | undefined;
}

/**
 * Machine names of the projects that rows are confined to, in one query for all of them.
 * @param where what the projects have to be besides
 */
export async function projectNames(
  em: EntityManager,
  rows: readonly ConfinedRow[],
  where: FilterQuery<Project> = {},
): Promise<(row: ConfinedRow) => string[] | null> {
  const ids = [...new Set(rows.flatMap((row) => row.projects ?? []))];
  const found = ids.length > 0 ? await em.find(Project, { $and: [{ id: { $in: ids } }, where] }) : [];
  const names = new Map(found.map((row) => [row.id, row.machine_name]));
  return (row) => row.projects?.flatMap((id) => names.get(id) ?? []).sort() ?? null;
}
