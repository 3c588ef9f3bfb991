import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import type { HostPace, SlotClock } from './host-pace.ts';

const milliseconds = (column: string) => `coalesce(extract(epoch from ${column}) * 1000, 0)::double precision`;

const readSql = (lock: boolean) => `
  select host, ${milliseconds('next_at')} as next_at, delay::double precision as delay, ${milliseconds('paused_until')} as paused_until,
    failures, pauses, good, ${milliseconds('clock_timestamp()')} as now
  from crawl_host where project_id = $1 and host = any (string_to_array($2, ' ')) order by host${lock ? ' for update' : ''}`;

const saveSql = `
  update crawl_host set next_at = to_timestamp(pace.next_at / 1000), delay = pace.delay,
    paused_until = to_timestamp(nullif(pace.paused_until, 0) / 1000), failures = pace.failures, pauses = pace.pauses, good = pace.good
  from json_to_recordset(?::json) as pace
    (host text, next_at double precision, delay real, paused_until double precision, failures integer, pauses integer, good integer)
  where crawl_host.project_id = ? and crawl_host.host = pace.host`;

/** Makes the rows of hosts that have none. */
export async function addHosts(em: EntityManager, project_id: number, hosts: readonly string[]): Promise<void> {
  if (hosts.length === 0) return;
  await em.execute(
    `insert into crawl_host (project_id, host) select ?, unnest(string_to_array(?, ' ')) on conflict do nothing`,
    [project_id, [...hosts].sort().join(' ')],
  );
}

/**
 * Reads how hosts answer, and the database's time into `clock`.
 * @param lock holds their rows until the transaction ends: required to take slots or to change something
 */
export async function readHosts(
  em: EntityManager,
  project_id: number,
  hosts: readonly string[],
  lock: boolean,
  clock: SlotClock,
): Promise<Map<string, HostPace>> {
  const sent = performance.now();
  const rows = await executeBound<HostPace & { now: number }>(em, readSql(lock), [project_id, hosts.join(' ')]);
  const reading = rows.at(-1)?.now;
  if (reading !== undefined) clock.take({ sent, reading, received: performance.now() });
  return new Map(rows.map(({ now: _, ...pace }) => [pace.host, pace]));
}

/** Writes what has changed; the caller holds the rows. */
export async function saveHosts(em: EntityManager, project_id: number, paces: readonly HostPace[]): Promise<void> {
  if (paces.length > 0) await em.execute(saveSql, [JSON.stringify(paces), project_id]);
}

/**
 * Takes one slot of a host anew, for a request that has missed its own.
 * @returns its start, on the database's clock; null: the host is paused
 */
export async function takeSlotAgain(
  em: EntityManager,
  project_id: number,
  host: string,
  gap: number,
): Promise<number | null> {
  const [row] = await em.execute<{ start: number }[]>(
    `update crawl_host set next_at = greatest(next_at, clock_timestamp() + interval '20 ms') + ? * interval '1 ms'
     where project_id = ? and host = ? and (paused_until is null or paused_until <= clock_timestamp())
     returning extract(epoch from next_at - ? * interval '1 ms')::double precision * 1000 as start`,
    [gap, project_id, host, gap],
  );
  return row?.start ?? null;
}
