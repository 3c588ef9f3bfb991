import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import type { ProvedCall } from './webhook-call.ts';

/** Headers by which senders name a delivery, the strongest first. */
const keyHeaders = ['x-github-delivery', 'webhook-id', 'idempotency-key', 'x-gitlab-event-uuid'];

/** The name a sender gave its delivery: the first of the known headers, when it is 1 to 200 visible ASCII characters; else null. */
export function dedupKeyOf(headers: ReadonlyMap<string, string>): string | null {
  const key = keyHeaders.map((name) => headers.get(name)).find((value) => value !== undefined);
  return key !== undefined && /^[\x21-\x7e]{1,200}$/.test(key) ? key : null;
}

/** What a call's key says of it. `replaces`: the failed execution whose key it has taken over. */
export type DedupOutcome =
  | { kind: 'new'; replaces: string | null }
  | { kind: 'duplicate'; execution_id: string; body_differs: boolean };

const day = 24 * 3600_000;

// Of calls with one key, also at the same time in several processes, the index lets one in.
const takeSql = `
  insert into delivery_key as held (trigger_id, key, execution_id, raw_sha256, expires_at)
  select trigger_id, key, execution_id, raw_sha256, expires_at
  from json_to_recordset($1::json)
    as wanted (trigger_id uuid, key text, execution_id uuid, raw_sha256 text, expires_at timestamptz)
  order by trigger_id, key
  on conflict (trigger_id, key) do update set
    replaces = case when held.expires_at > $2::timestamptz then held.execution_id end,
    execution_id = excluded.execution_id, raw_sha256 = excluded.raw_sha256, expires_at = excluded.expires_at
  where held.execution_id <> excluded.execution_id and (held.expires_at <= $2::timestamptz
    or exists (select 1 from execution where id = held.execution_id and status = 'failed'))
  returning trigger_id, key, replaces`;

const heldSql = `
  select trigger_id, key, execution_id, raw_sha256 from delivery_key
  where (trigger_id, key) in (
    select trigger_id, key from json_to_recordset($1::json) as wanted (trigger_id uuid, key text))`;

const nameOf = ({ trigger_id, key }: { trigger_id: string; key: string }) => `${trigger_id} ${key}`;

/** Takes the keys of calls, in the transaction of `em`. Calls without one are not in the answer. */
export async function takeKeys(
  em: EntityManager,
  calls: readonly ProvedCall[],
  now: Date,
): Promise<Map<ProvedCall, DedupOutcome>> {
  const outcomes = new Map<ProvedCall, DedupOutcome>();
  const first = new Map<string, ProvedCall>();
  const keyed = calls.flatMap((call) => {
    const { dedup_key: key, trigger } = call;
    if (key === null) return [];
    const name = nameOf({ trigger_id: trigger.id, key });
    if (!first.has(name)) first.set(name, call);
    return [{ call, name }];
  });
  if (keyed.length === 0) return outcomes;
  const wanted = [...first.values()].map(({ trigger, dedup_key, execution_id, raw_sha256 }) => ({
    trigger_id: trigger.id,
    key: dedup_key,
    execution_id,
    raw_sha256,
    expires_at: new Date(now.getTime() + day),
  }));
  const rows = JSON.stringify(wanted);
  type Taken = { trigger_id: string; key: string; replaces: string | null };
  const taken = new Map((await executeBound<Taken>(em, takeSql, [rows, now])).map((row) => [nameOf(row), row]));
  const left = keyed.filter(({ call, name }) => !taken.has(name) || first.get(name) !== call);
  type Held = { trigger_id: string; key: string; execution_id: string; raw_sha256: string };
  const held = left.length === 0 ? [] : await executeBound<Held>(em, heldSql, [rows]);
  const holders = new Map(held.map((row) => [nameOf(row), row]));
  for (const { call, name } of keyed) {
    const won = taken.get(name);
    const holder = holders.get(name);
    if (won && first.get(name) === call) outcomes.set(call, { kind: 'new', replaces: won.replaces });
    else if (holder)
      outcomes.set(call, {
        kind: 'duplicate',
        execution_id: holder.execution_id,
        body_differs: holder.raw_sha256 !== call.raw_sha256,
      });
    else throw new Error('a key was neither taken nor held');
  }
  return outcomes;
}
