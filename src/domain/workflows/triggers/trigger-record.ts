import type { z } from 'zod';
import type { ProjectContext } from '../../projects/operation.ts';
import { nextFires } from '../../schedules/next-fires.ts';
import { webhookUrl } from '../workflow-record.ts';
import { isInGrace, secretStateOf } from './sealed-secret.ts';
import type { Refusal, RefusalReason, WorkflowTrigger } from './trigger.entity.ts';
import type { workflowTrigger } from './trigger.schema.ts';

type Record = z.output<typeof workflowTrigger>;
type Context = Pick<ProjectContext, 'em' | 'services' | 'organization'>;

const nextShown = 5;

const webhookSql = `
  select counts, latest, (select received_at from delivery where trigger_id = trigger.id order by id desc limit 1) as last
  from workflow_trigger as trigger left join workflow_refusal on workflow_refusal.trigger_id = trigger.id where trigger.id = ?`;

interface Facts {
  counts: Partial<globalThis.Record<RefusalReason, number>> | null;
  latest: Refusal[] | null;
  last: string | null;
}

const refusalRecord = ({ at, ...refusal }: Refusal): Record['latest_refusals'][number] => ({
  ...refusal,
  at: new Date(at),
});

async function webhookFacts({ em, services, organization }: Context, row: WorkflowTrigger, now: Date) {
  const [facts] = await em.execute<Facts[]>(webhookSql, [row.id]);
  const latest = (facts?.latest ?? []).map(refusalRecord);
  const counts = Object.entries(facts?.counts ?? {}) as [RefusalReason, number][];
  return {
    auth_mode: row.auth_mode ?? 'secret',
    url: webhookUrl(services.settings, row.workflow_id),
    methods: row.methods ?? null,
    secret_state: await secretStateOf(services, organization.id, row, now),
    secret_version: row.secret_version,
    previous_secret_expires_at: isInGrace(row, now) ? (row.previous_secret_expires_at ?? null) : null,
    previous_secret_last_used_at: row.previous_secret_last_used_at ?? null,
    last_delivery_at: facts?.last ? new Date(facts.last) : null,
    last_refusal: latest[0] ?? null,
    refusals: counts.map(([reason, count]) => ({ reason, count })),
    latest_refusals: latest,
  };
}

const noWebhook = {
  auth_mode: null,
  url: null,
  methods: null,
  secret_state: null,
  secret_version: null,
  previous_secret_expires_at: null,
  previous_secret_last_used_at: null,
  last_delivery_at: null,
  last_refusal: null,
  refusals: [],
  latest_refusals: [],
};

/** Triggers as callers see them: never their secrets. */
export async function triggerRecords(context: Context, rows: readonly WorkflowTrigger[]): Promise<Record[]> {
  const now = await context.services.sharedClock.now(context.em);
  return Promise.all(rows.map((row) => recordAt(context, row, now)));
}

export async function triggerRecord(context: Context, row: WorkflowTrigger): Promise<Record> {
  const [record] = await triggerRecords(context, [row]);
  return record as Record;
}

async function recordAt(context: Context, row: WorkflowTrigger, now: Date): Promise<Record> {
  const { id, type, enabled, rate_limit, schedule_cron_string, timezone, created_at, updated_at } = row;
  const timing = schedule_cron_string == null ? null : { schedule_cron_string, timezone: timezone ?? 'UTC' };
  return {
    id,
    type,
    enabled,
    rate_limit: rate_limit ?? null,
    ...(type === 'webhook' ? await webhookFacts(context, row, now) : noWebhook),
    schedule_cron_string: schedule_cron_string ?? null,
    timezone: timing?.timezone ?? null,
    next_fires: timing && enabled ? [...(await nextFires(timing, now, nextShown))] : [],
    created_at,
    updated_at,
  };
}
