import { raw as sqlRaw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { findPage, maxPerPage, pageOf } from '../../../kernel/paging.ts';
import { isUuid, uuid7 } from '../../../lib/ids.ts';
import { beginExecution } from '../executions/begin-execution.ts';
import type { WorkflowTrigger } from '../triggers/trigger.entity.ts';
import { findTrigger, readTrigger } from '../triggers/triggers.operations.ts';
import { type WorkflowContext, workflowOperation } from '../workflows.ts';
import { Delivery } from './delivery.entity.ts';
import {
  begunExecution,
  deliveriesWanted,
  deliveryName,
  deliverySummary,
  workflowDelivery,
} from './delivery.schema.ts';
import { eventOf, inputOfDelivery, sizeOfInput } from './delivery-input.ts';

function summaryOf(row: Delivery): z.output<typeof deliverySummary> {
  const { id, outcome, method, body_differs, raw_size, raw_sha256, received_at, headers } = row;
  return {
    id,
    outcome,
    execution_id: row.execution_id ?? null,
    method,
    event: eventOf(headers),
    delivery_id: row.dedup_key ?? null,
    body_differs,
    raw_size,
    raw_sha256,
    auth: { mode: row.auth_mode, secret_version: row.secret_version },
    received_at,
  };
}

/** @throws DomainError `not_found`, also for ids that cannot exist */
async function findDelivery(em: EntityManager, { id: trigger_id }: WorkflowTrigger, id: string): Promise<Delivery> {
  const row = isUuid(id) ? await em.findOne(Delivery, { id, trigger_id }) : null;
  if (!row) throw new DomainError('not_found', 'Delivery not found');
  return row;
}

const hasExpired = ({ body, body_sha256, raw_size }: Delivery) => body == null && body_sha256 == null && raw_size > 0;

/** A delivery whose bytes are not read. */
const withoutContents = (row: Delivery): z.output<typeof workflowDelivery> => ({
  ...summaryOf(row),
  headers: row.headers,
  query: row.query,
  body: null,
  body_note: null,
  body_error: null,
  raw: null,
  has_expired: hasExpired(row),
});

/** A delivery with what it brought, for which room has been taken. */
async function deliveryRecord(
  { services, workflows, room }: Pick<WorkflowContext, 'services' | 'workflows' | 'room'>,
  row: Delivery,
): Promise<z.output<typeof workflowDelivery>> {
  const { body, body_note, body_error, raw } = await inputOfDelivery({ blobs: services.blobs, workflows, room }, row);
  return {
    ...withoutContents(row),
    body: body as z.output<typeof workflowDelivery>['body'],
    body_note: body_note ?? null,
    body_error: body_error ?? null,
    raw,
  };
}

export const listWebhookDeliveries = workflowOperation({
  name: 'workflows.listWebhookDeliveries',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the calls a webhook has accepted, the newest first',
  input: deliveriesWanted,
  output: pageOf(deliverySummary),
  async execute(context, { workflow, trigger: name, outcome, ...paging }) {
    const { em } = context;
    const trigger = await readTrigger(context, { workflow, trigger: name });
    const { rows, asPage } = await findPage(
      em,
      paging,
      Delivery,
      { trigger_id: trigger.id, ...(outcome !== undefined && { outcome }) },
      { orderBy: { id: 'desc' }, exclude: ['body'] },
    );
    return asPage(rows.map((row) => summaryOf(row as Delivery)));
  },
});

export const getWebhookDelivery = workflowOperation({
  name: 'workflows.getWebhookDelivery',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Get one call of a webhook with its headers and body',
  input: z.object(deliveryName),
  output: workflowDelivery,
  async execute(context, { delivery: id, ...names }) {
    const row = await findDelivery(context.em, await readTrigger(context, names), id);
    await context.room(sizeOfInput(row));
    return deliveryRecord(context, row);
  },
});

export const getWebhookDeliveries = workflowOperation({
  name: 'workflows.getWebhookDeliveries',
  kind: 'query',
  permission: 'browse_workflows',
  notInSteps: true,
  summary: 'Calls of webhooks by their ids, in the order of the input; null for missing ones',
  input: z.object({
    deliveries: z.array(z.string().max(100)).max(maxPerPage, `must be at most ${maxPerPage}`),
    contents: z.boolean().describe('With their bodies'),
  }),
  output: z.array(workflowDelivery.nullable()),
  async execute(context, { deliveries: ids, contents }) {
    const isAlive = sqlRaw(
      `exists (select 1 from workflow_trigger join workflow on workflow.id = workflow_id
         where workflow_trigger.id = trigger_id and project_id = ? and workflow.deleted_at is null and workflow_trigger.deleted_at is null)`,
      [context.project.id],
    );
    const named = ids.filter((id) => isUuid(id));
    const where = { id: { $in: named }, [isAlive]: [] };
    const rows = named.length === 0 ? [] : await context.em.find(Delivery, where, { disableIdentityMap: true });
    if (contents) await context.room(rows.reduce((sum, row) => sum + sizeOfInput(row), 0));
    const records = [];
    // One after the other: each may be large, and the caller may be gone before the last one.
    for (const row of rows) {
      context.signal.throwIfAborted();
      records.push(contents ? await deliveryRecord(context, row) : withoutContents(row));
    }
    const byId = new Map(records.map((record) => [record.id, record]));
    return ids.map((id) => byId.get(id) ?? null);
  },
});

export const redeliver = workflowOperation({
  name: 'workflows.redeliver',
  kind: 'command',
  permission: 'edit_workflows',
  notInSteps: true,
  summary: 'Start a workflow again with the body of an earlier webhook call',
  input: z.object(deliveryName),
  output: begunExecution,
  audit: ({ delivery }) => ({ type: 'workflow_delivery', id: delivery }),
  async execute(context, { delivery: of, ...names }) {
    const { em, services } = context;
    const { workflow, trigger } = await findTrigger(context, names);
    const row = await findDelivery(em, trigger, of);
    if (hasExpired(row)) throw new DomainError('in_use', 'The bytes of this delivery are not kept any more');
    const now = services.clock.now();
    const id = uuid7(now);
    const execution_id = await beginExecution(em, services, {
      workflow,
      trigger: { id: trigger.id, type: 'webhook' },
      delivery_id: id,
    });
    await em.insert(Delivery, {
      ...row,
      id,
      execution_id,
      outcome: 'redelivery',
      body_differs: false,
      received_at: now,
    });
    return { execution_id };
  },
});
