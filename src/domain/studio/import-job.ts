import { z } from 'zod';
import type { EventSubject } from '../ports/event-feed.ts';
import type { JobKind } from '../ports/jobs.ts';
import type { ImportState } from '../projects/project.entity.ts';

/** Fetching an upstream into a project's empty repository, in the background. */
export const importJob = {
  name: 'repository-import',
  payload: z.object({
    project_id: z.int(),
    url: z.string(),
    /** Sealed credentials; absent for none. */
    credentials: z.string().nullable().optional(),
    /** Short names; absent for all. */
    branches: z.array(z.string()).optional(),
  }),
  retries: 2,
  expireSeconds: 20 * 60,
} satisfies JobKind;

/** What those who wait for an import watch. */
export const importSubject = (project_id: number): EventSubject => ({ project_id, topic: 'import' });

/** The state of an import that has been asked for and not begun. */
export function queuedImport(url: string): ImportState {
  return {
    state: 'queued',
    url,
    phase: null,
    received_objects: 0,
    total_objects: 0,
    message: null,
    started_at: null,
    finished_at: null,
  };
}
