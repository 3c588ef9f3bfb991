import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { SavedRoutes } from '../studio/routes/routes.schema.ts';

/** What a project decides about its repository. */
export interface StudioSettings {
  /** Globs of branch names: such branches are neither deleted nor moved by force. */
  protected_branches: string[];
  /** Protected branches move by merging pull requests only. */
  require_pull: boolean;
  /** Changes to what is stored must say which version they change. */
  require_preconditions: boolean;
  /** Whether what `checkPublish` calls an error keeps a merge from the default branch, or is only shown. */
  publish_checks: 'warn' | 'block';
  /** Directory of the site; '' is the repository's root, null lets it be found. */
  content_root: string | null;
  /** Where the pages of its entries are; null: not configured. */
  routes: SavedRoutes | null;
  /** Of a mirror: how old, in seconds, what is known of the upstream may be when content is read or written. */
  fresh_for: { read: number; write: number };
}

const defaults: StudioSettings = {
  protected_branches: [],
  require_pull: false,
  require_preconditions: false,
  publish_checks: 'warn',
  content_root: null,
  routes: null,
  fresh_for: { read: 30, write: 2 },
};

/** The settings of a project's row; what was never set has its default. */
export const studioSettings = (stored: Partial<StudioSettings> | null | undefined): StudioSettings => ({
  ...defaults,
  ...stored,
});

/** How far the import of a repository has come; kept on the project so that any process can read it. */
export interface ImportState {
  /** Which import of the project it is. */
  attempt: number;
  /** It was stopped by a person; what fetches may go on for a second. */
  is_cancelled: boolean;
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
    machine_name: p.text(),
    name: p.text(),
    region: p.text().nullable(),
    import: p.json<ImportState>().nullable(),
    settings: p.json<Partial<StudioSettings>>().nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    deleted_at: p.datetime(3).nullable(),
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
