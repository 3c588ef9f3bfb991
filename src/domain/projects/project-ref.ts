import type { EntityManager } from '@mikro-orm/postgresql';
import { Upstream } from '../studio/upstream/upstream.entity.ts';
import { Project, type ProjectRef, studioSettings } from './project.entity.ts';

/** What operations know of a project that is not deleted; null when it does not exist. */
export async function loadProject(
  em: EntityManager,
  which: { id: number } | { uuid: string } | { organization_id: number; machine_name: string },
): Promise<ProjectRef | null> {
  const row = await em.findOne(Project, { ...which, deleted_at: null }, { disableIdentityMap: true });
  if (!row) return null;
  const { id, uuid, organization_id, machine_name, name, settings } = row;
  const is_mirror = (await em.count(Upstream, { project_id: id })) > 0;
  return { id, uuid, organization_id, machine_name, name, settings: studioSettings(settings), is_mirror };
}

/**
 * The row of a project as it is now, held until the transaction ends: what is decided by it stays so. Rows that refer to it can be written
 * meanwhile: a foreign key is checked under a lock that this one leaves free. FOR UPDATE would not: the holder could wait for a row whose writer
 * waits for the project.
 */
export async function holdProject(em: EntityManager, id: number): Promise<Project> {
  await em.execute('select 1 from project where id = ? for no key update', [id]);
  return em.findOneOrFail(Project, { id }, { refresh: true });
}
