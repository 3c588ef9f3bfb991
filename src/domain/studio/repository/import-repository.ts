import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { EventSubject } from '../../../ports/event-feed.ts';
import type { Imported, ImportProgress, ImportSource } from '../../../ports/git-transfer.ts';
import type { JobKind } from '../../../ports/jobs.ts';
import { type ImportState, Project } from '../../projects/project.entity.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { leftOutNotice } from '../ref-name.ts';

/** Fetching an upstream into a project's empty repository, in the background. */
export const importJob = {
  name: 'repository-import',
  payload: z.object({
    project_id: z.int(),
    /** See `Options`. */
    attempt: z.int().optional(),
    url: z.string(),
    /** Sealed credentials; absent for none. */
    credentials: z.string().nullable().optional(),
    /** Short names; absent for all. */
    branches: z.array(z.string()).optional(),
  }),
  retries: 2,
  expireSeconds: 20 * 60,
} satisfies JobKind;

/** The event subject of an import. */
export const importSubject = (project_id: number): EventSubject => ({ project_id, topic: 'import' });

/** The state of an import that has not begun. */
export function queuedImport(url: string, attempt: number): ImportState {
  return {
    attempt,
    is_cancelled: false,
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

/** Progress reaches the database at most this often, milliseconds. */
const savedEvery = 500;
/** How often a fetch looks whether it has been cancelled, milliseconds: one that hangs has no progress to save. */
const lookEvery = 1_000;

const cancelled = () => new DomainError('conflict', 'The import was cancelled');

/** The state of an import that was cancelled before it ended. */
export const cancelledImport = (state: ImportState, now: Date): ImportState => ({
  ...state,
  ...{ state: 'failed', is_cancelled: true, phase: null },
  message: cancelled().message,
  finished_at: now.toISOString(),
});

interface Options {
  /** The attempt a job was sent for: what was cancelled, or has another one after it, is not begun. */
  attempt?: number | undefined;
  onProgress?: (progress: ImportProgress) => void;
  signal?: AbortSignal;
}

/** Lock held while something is imported into a project; it ends with its process. */
export const importLock = (projectId: number): string => `import ${projectId}`;

/**
 * Fetches a source into the empty repository of a project and keeps the progress on the project's row, so that any process can tell how far
 * it is. A repeat after a crash begins again on what is there.
 * @throws DomainError `already_exists` when the repository has commits, `busy` while another import runs, `conflict` when it was cancelled; what
 * git said otherwise.
 */
export async function importRepository(
  services: Services,
  projectId: number,
  source: Pick<ImportSource, 'url' | 'kind' | 'auth' | 'branches'>,
  options: Options = {},
): Promise<Imported> {
  const fetch = () => fetchInto(services, projectId, source, options);
  const imported = await services.locks.unlessHeld(importLock(projectId), fetch);
  if (imported === null) throw new DomainError('busy', 'Another import into this project is under way');
  return imported.result;
}

async function fetchInto(
  services: Services,
  projectId: number,
  source: Pick<ImportSource, 'url' | 'kind' | 'auth' | 'branches'>,
  options: Options,
): Promise<Imported> {
  const { uuid, import: earlier } = await services.orm.em.fork().findOneOrFail(Project, projectId);
  if (options.attempt !== undefined && (earlier?.attempt !== options.attempt || earlier.is_cancelled))
    throw cancelled();
  if ((await services.git.open(uuid).branches()).length > 0) {
    throw new DomainError('already_exists', 'The repository has commits; import into a new project');
  }
  const now = () => services.clock.now().toISOString();
  const attempt = options.attempt ?? (earlier?.attempt ?? 0) + 1;
  const queued = queuedImport(earlier?.url ?? source.url, attempt);
  const state: ImportState = { ...queued, state: 'running', started_at: now() };
  const stopped = new AbortController();
  const isCancelled = async (em: EntityManager) => {
    const { import: kept } = await em.findOneOrFail(Project, projectId, { refresh: true });
    if (kept?.attempt === attempt && kept.is_cancelled) stopped.abort(cancelled());
    return stopped.signal.aborted;
  };
  const save = () =>
    services.orm.em.fork().transactional(async (em) => {
      await holdProject(em, projectId);
      // One that has ended is complete, although it was cancelled meanwhile.
      if (state.state === 'running' && (await isCancelled(em))) return;
      await em.nativeUpdate(Project, { id: projectId }, { import: { ...state } });
      await services.events.announce(em, importSubject(projectId));
    });
  await save();
  let savedAt = services.clock.now().getTime();
  let saving = Promise.resolve<unknown>(undefined);
  const looking = setInterval(() => void isCancelled(services.orm.em.fork()).catch(() => {}), lookEvery);
  const signals = [stopped.signal, ...(options.signal ? [options.signal] : [])];
  try {
    const result = await services.git.importFrom(uuid, {
      ...source,
      signal: AbortSignal.any(signals),
      onProgress: (progress) => {
        Object.assign(state, progress);
        options.onProgress?.(progress);
        if (services.clock.now().getTime() - savedAt < savedEvery) return;
        savedAt = services.clock.now().getTime();
        saving = saving
          .then(save)
          .catch((err: unknown) => services.log.warn({ err }, 'progress of an import not written'));
      },
    });
    await saving;
    const message = leftOutNotice(result.left_out);
    Object.assign(state, { state: 'completed', phase: null, message, finished_at: now() });
    await save();
    return result;
  } catch (error) {
    await saving;
    if (stopped.signal.aborted) throw cancelled();
    const message = error instanceof DomainError ? error.message : 'Something went wrong while importing';
    Object.assign(state, { state: 'failed', message, finished_at: now() });
    await save();
    throw error;
  } finally {
    clearInterval(looking);
  }
}
