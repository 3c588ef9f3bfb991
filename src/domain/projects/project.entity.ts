import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { StudioSettings } from './studio-settings.ts';

/** How far the import of a repository has come; kept on the project so that any process can tell. */
export interface ImportState {
  state: 'queued' | 'running' | 'completed' | 'failed';
  url: string;
  phase: string | null;
  received_objects: number;
  total_objects: number;
  message: string | null;
  started_at: string | null;
  finished_at: string | null;
}

export const Project = defineEntity({
  name: 'Project',
  tableName: 'project',
  properties: {
    id: p.integer().primary().autoincrement(),
    uuid: p.uuid().unique(),
    organization_id: p.integer(),
    machine_name: p.string(),
    name: p.string(),
    region: p.string().nullable(),
    import: p.json<ImportState>().nullable(),
    settings: p.json<Partial<StudioSettings>>().nullable(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
    deleted_at: p.datetime().nullable(),
  },
});
export type Project = InferEntity<typeof Project>;

/** What every operation of a project knows of it. */
export interface ProjectRef {
  id: number;
  uuid: string;
  organization_id: number;
  machine_name: string;
  name: string;
  settings: StudioSettings;
  /** It mirrors a repository elsewhere. */
  is_mirror: boolean;
}
