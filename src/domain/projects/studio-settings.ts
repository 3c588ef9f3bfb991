import type { SavedRoutes } from '../studio/routes/routes.schema.ts';

/** What a project decides about its repository. */
export interface StudioSettings {
  /** Globs of branch names: such branches are neither deleted nor moved by force. */
  protected_branches: string[];
  /** Protected branches move by merging pull requests only. */
  require_pull: boolean;
  /** Changes to what is stored must say which version they change. */
  require_preconditions: boolean;
  /** Directory of the site; '' is the repository's root, null lets it be found. */
  content_root: string | null;
  /** Where the pages of its entries are; null: nobody has said. */
  routes: SavedRoutes | null;
  /** Of a mirror: how old, in seconds, what is known of the upstream may be when content is read or written. */
  fresh_for: { read: number; write: number };
}

const defaults: StudioSettings = {
  protected_branches: [],
  require_pull: false,
  require_preconditions: false,
  content_root: null,
  routes: null,
  fresh_for: { read: 30, write: 2 },
};

/** The settings of a project's row; what was never set has its default. */
export const studioSettings = (stored: Partial<StudioSettings> | null | undefined): StudioSettings => ({
  ...defaults,
  ...stored,
});
