import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import type { Services } from '../../../services.ts';
import { beginExecutions } from '../../executions/begin-execution.ts';
import type { AuthMode } from '../../triggers/trigger.entity.ts';
import { type DedupOutcome, takeKeys } from './dedup.ts';
import { insertDeliveries } from './insert-deliveries.ts';
import type { ProvedCall } from './proved-call.ts';

/** `stale`: the webhook has changed since the call was proved; nothing was stored. */
export type Acceptance = { execution_id: string; replayed: boolean } | 'stale';

interface TriggerNow {
  id: string;
  open: boolean;
  auth_mode: AuthMode;
  methods: string[] | null;
  secret_version: number;
  has_secret: boolean;
  previous_version: number | null;
  previous_expires_at: string | null;
  project_id: number;
  version: number;
}

// Shared locks: whoever rotates, disables or deletes waits for this commit, or this one sees what he has done.
const checkSql = `
  select t.id, t.enabled and w.enabled and t.deleted_at is null and w.deleted_at is null and p.deleted_at is null as open,
    t.auth_mode, t.methods, t.secret_version, t.secret is not null as has_secret,
    case when t.previous_secret is not null then t.previous_secret_version end as previous_version,
    t.previous_secret_expires_at as previous_expires_at, w.project_id, w.version
  from workflow_trigger t join workflow w on w.id = t.workflow_id join project p on p.id = w.project_id
  where t.id = any($1::uuid[]) order by t.id
  for share of t, w`;

async function triggersNow(em: EntityManager, calls: readonly ProvedCall[]): Promise<Map<string, TriggerNow>> {
  const ids = [...new Set(calls.map(({ trigger }) => trigger.id))];
  const rows = await executeBound<TriggerNow>(em, checkSql, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether what proved a call still opens its webhook. */
function stillHolds({ trigger, secret_version }: ProvedCall, now: TriggerNow | undefined, at: () => Date): boolean {
  if (!now?.open || now.auth_mode !== trigger.auth_mode) return false;
  if (JSON.stringify(now.methods) !== JSON.stringify(trigger.methods)) return false;
  if (secret_version === now.secret_version) return now.has_secret;
  const until = now.previous_expires_at;
  return secret_version === now.previous_version && until !== null && new Date(until) > at();
}

type Needs = Pick<Services, 'clock' | 'sharedClock' | 'events' | 'jobs'>;

/** Stores calls in the transaction of `em`: deliveries, keys, executions, their first events and jobs. @returns in the order of the calls */
export async function acceptCalls(
  em: EntityManager,
  services: Needs,
  calls: readonly ProvedCall[],
): Promise<Acceptance[]> {
  const triggers = await triggersNow(em, calls);
  const isOld = (call: ProvedCall) => triggers.get(call.trigger.id)?.secret_version !== call.secret_version;
  // The clock all processes share decides when a grace ends; it is asked only when that matters.
  const now = calls.some(isOld) ? await services.sharedClock.now(em) : services.clock.now();
  const good = calls.filter((call) => stillHolds(call, triggers.get(call.trigger.id), () => now));
  const outcomes = await takeKeys(em, good, services.clock.now());
  const outcomeOf = (call: ProvedCall): DedupOutcome => outcomes.get(call) ?? { kind: 'new', replaces: null };
  const begun = good.filter((call) => outcomeOf(call).kind === 'new');
  const requests = begun.map((call) => {
    const { project_id = 0, version = 0 } = triggers.get(call.trigger.id) ?? {};
    const outcome = outcomeOf(call);
    return {
      id: call.execution_id,
      workflow: { id: call.trigger.workflow_id, project_id, version },
      trigger: { id: call.trigger.id, type: 'webhook' as const },
      delivery_id: call.delivery_id,
      ...(outcome.kind === 'new' && outcome.replaces !== null && { replay_of: outcome.replaces }),
    };
  });
  const deliveries = good.map((call) => ({ call, outcome: outcomeOf(call) }));
  await Promise.all([beginExecutions(em, services, requests), insertDeliveries(em, deliveries)]);
  const isGood = new Set(good);
  return calls.map((call) => {
    if (!isGood.has(call)) return 'stale';
    const outcome = outcomeOf(call);
    return outcome.kind === 'new'
      ? { execution_id: call.execution_id, replayed: false }
      : { execution_id: outcome.execution_id, replayed: true };
  });
}
