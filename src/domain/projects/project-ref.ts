import type { EntityManager } from '@mikro-orm/postgresql';
import { Upstream } from '../studio/upstream/upstream.entity.ts';
import { Project, type ProjectRef } from './project.entity.ts';
import { studioSettings } from './studio-settings.ts';

/** What operations know of a project that is not deleted; null when there is none such. */
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
