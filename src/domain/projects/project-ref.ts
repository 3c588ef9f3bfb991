import type { Project, ProjectRef } from './project.entity.ts';
import { studioSettings } from './studio-settings.ts';

/** What operations know of a project, from its row. */
export function projectRef(row: Project): ProjectRef {
  const { id, uuid, organization_id, machine_name, name, settings } = row;
  return { id, uuid, organization_id, machine_name, name, settings: studioSettings(settings) };
}
