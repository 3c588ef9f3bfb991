import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import type { JobKind } from '../../../ports/jobs.ts';
import type { Services } from '../../../services.ts';
import { SnapshotImport } from '../snapshot.entity.ts';

/** Copies a snapshot into a branch. Doing it twice changes nothing more, so a process that dies loses it to another. */
export const snapshotImportJob = {
  name: 'snapshot-import',
  payload: z.object({ import_id: z.int() }),
  retries: 3,
  expireSeconds: 4 * 3600,
  policy: 'stately',
} satisfies JobKind;

/** Puts the job of an import in with the transaction. A queue that is starting loses nothing: the minute's tick looks for what waits. */
export async function wakeImport(
  em: EntityManager,
  { jobs, log }: Pick<Services, 'jobs' | 'log'>,
  id: number,
): Promise<void> {
  try {
    await jobs.send(snapshotImportJob, { import_id: id }, { em, singletonKey: String(id) });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    log.debug({ err: error }, 'an import waits for the next look');
  }
}

const minute = 60_000;

/** Wakes imports that wait for longer than a minute, or were left by a process that died. */
export async function tickImports(services: Services): Promise<void> {
  const before = new Date(services.clock.now().getTime() - minute);
  const em = services.orm.em.fork();
  const left = await em.find(
    SnapshotImport,
    { state: { $in: ['queued', 'running'] }, created_at: { $lt: before } },
    { orderBy: { id: 'asc' }, limit: 100 },
  );
  for (const { id } of left) await em.transactional((within) => wakeImport(within, services, id));
}
