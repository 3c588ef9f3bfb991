import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../services.ts';
import { advanceJob } from './advance-job.ts';

/** What executions of a workflow share: a few of the same key may be under way at once. */
export interface SlotKey {
  workflow_id: string;
  key: string;
}

/** Holds a slot's row until the transaction ends. @returns how many may be under way; null: nobody has ever asked */
async function holdSlot(em: EntityManager, { workflow_id, key }: SlotKey): Promise<number | null> {
  const [row] = await em.execute<{ most: number }[]>(
    'select most from slot where workflow_id = ? and key = ? for update',
    [workflow_id, key],
  );
  return row?.most ?? null;
}

async function takenOf(em: EntityManager, { workflow_id, key }: SlotKey): Promise<number> {
  const [row] = await em.execute<{ taken: number }[]>(
    `select count(*)::integer as taken from execution
     where workflow_id = ? and slot_key = ? and has_slot and status in ('pending', 'running', 'paused')`,
    [workflow_id, key],
  );
  return row?.taken ?? 0;
}

/** Gives what is free of a slot to those that have waited longest, and sends their jobs, in the caller's transaction. */
export async function handSlotsOver(em: EntityManager, { jobs }: Pick<Services, 'jobs'>, slot: SlotKey): Promise<void> {
  const most = await holdSlot(em, slot);
  if (most === null) return;
  const free = most - (await takenOf(em, slot));
  if (free <= 0) return;
  const next = await em.execute<{ id: string }[]>(
    `update execution set has_slot = true where id in (
       select id from execution where workflow_id = ? and slot_key = ? and status = 'pending' and not has_slot
       order by id limit ? for update skip locked)
     returning id`,
    [slot.workflow_id, slot.key, free],
  );
  await jobs.sendMany(
    advanceJob,
    next.map(({ id }) => ({ execution_id: id })),
    { em },
  );
}
