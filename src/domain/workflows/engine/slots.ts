import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { advanceJob } from '../advance-job.ts';
import type { Lease } from './checkpoints.ts';

/** What executions of a workflow share: a few of the same key may be under way at once. */
export interface SlotKey {
  workflow_id: string;
  key: string;
}

/** Holds a slot's row until the transaction ends. @returns how many may be under way; null: no execution has used the key yet */
async function lockSlot(em: EntityManager, { workflow_id, key }: SlotKey): Promise<number | null> {
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

/** Grants a key's free slots to the executions that have waited longest, and sends their jobs, in the caller's transaction. */
export async function grantFreeSlots(
  em: EntityManager,
  { jobs }: Pick<Services, 'jobs'>,
  slot: SlotKey,
): Promise<void> {
  const most = await lockSlot(em, slot);
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

/** An execution that wants to begin where only a few of a key may be under way. */
export interface SlotRequest {
  lease: Lease;
  key: string;
  /** How many may be. */
  most: number;
}

/** `queued`: it has no driver until a slot is granted; `lost`: another driver has taken it over. */
export type SlotResult = 'taken' | 'queued' | 'lost';

/** Locks the rows of keys, in one order, so that no two transactions that grant or take slots deadlock. */
const lockSql = `
  insert into slot (workflow_id, key, most)
  select workflow_id, key, most from json_to_recordset($1::json) as wanted (at integer, workflow_id uuid, key text, most integer) order by at
  on conflict (workflow_id, key) do update set most = excluded.most`;

/** The free slots of each key, and the head of its queue, which comes before new requests: a hundred are enough. */
const freeSlotsSql = `
  select at, most - (select count(*) from execution where workflow_id = wanted.workflow_id and slot_key = wanted.key and has_slot
      and status in ('pending', 'running', 'paused'))::integer as free,
    array(select id::text from execution where workflow_id = wanted.workflow_id and slot_key = wanted.key
      and status = 'pending' and not has_slot order by id limit 100) as waiting
  from json_to_recordset($1::json) as wanted (at integer, workflow_id uuid, key text, most integer)`;

const takeSql = `
  update execution set slot_key = wanted.key, has_slot = wanted.wins,
    driver_id = case when wanted.wins then driver_id end, suspect = case when wanted.wins then suspect end
  from json_to_recordset($1::json) as wanted (id uuid, attempt integer, key text, wins boolean)
  where execution.id = wanted.id and execution.attempt = wanted.attempt and execution.status = 'pending'
  returning execution.id`;

const nameOf = ({ workflow_id, key }: SlotKey) => `${workflow_id} ${key}`;

interface Group extends SlotKey {
  most: number;
  ids: string[];
}

/** Requests by key, in the order in which rows are locked. */
function groupsOf(requests: readonly SlotRequest[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { lease, key, most } of requests) {
    const { id, workflow_id } = lease;
    const name = nameOf({ workflow_id, key });
    const group = groups.get(name) ?? { workflow_id, key, most, ids: [] };
    groups.set(name, { ...group, most, ids: [...group.ids, id] });
  }
  return [...groups.keys()].sort().flatMap((name) => groups.get(name) ?? []);
}

/** The executions that get a slot: as many as are free, in the order of acceptance, queued and new ones alike. */
async function winnersOf(em: EntityManager, groups: readonly Group[]): Promise<Set<string>> {
  const keys = [JSON.stringify(groups.map(({ workflow_id, key, most }, at) => ({ at, workflow_id, key, most })))];
  await executeBound(em, lockSql, keys);
  const rows = await executeBound<{ at: number; free: number; waiting: string[] }>(em, freeSlotsSql, keys);
  return new Set(
    rows.flatMap(({ at, free, waiting }) =>
      [...new Set([...(groups[at]?.ids ?? []), ...waiting])].sort().slice(0, Math.max(free, 0)),
    ),
  );
}

/**
 * Takes slots for executions, in the transaction of `em`. An execution that finds none free, or is behind a waiting one, joins the queue.
 * @returns in the order of the requests
 */
export async function takeSlots(
  em: EntityManager,
  services: Pick<Services, 'jobs'>,
  requests: readonly SlotRequest[],
): Promise<SlotResult[]> {
  const groups = groupsOf(requests);
  const winners = await winnersOf(em, groups);
  const rows = requests.map(({ lease: { id, attempt }, key }) => ({ id, attempt, key, wins: winners.has(id) }));
  const written = await executeBound<{ id: string }>(em, takeSql, [JSON.stringify(rows)]);
  const known = new Set(written.map(({ id }) => id));
  // A place that was meant for an execution which is another's by now.
  for (const group of groups)
    if (group.ids.some((id) => winners.has(id) && !known.has(id))) await grantFreeSlots(em, services, group);
  return requests.map(({ lease: { id } }) => {
    if (!known.has(id)) return 'lost';
    return winners.has(id) ? 'taken' : 'queued';
  });
}
