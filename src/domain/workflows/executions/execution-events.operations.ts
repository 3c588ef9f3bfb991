import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { maxPerPage, pageFrom, pageInput, pageNumber, pageOf, totalOf, windowOf } from '../../../kernel/paging.ts';
import { eventSubject } from '../../../ports/event-feed.ts';
import { workflowOperation } from '../workflows.ts';
import { type Execution, terminalStatuses } from './execution.entity.ts';
import { type ExecutionEvent, executionSubject } from './execution-feed.ts';
import { findExecution } from './execution-record.ts';
import { executionEvent, executionId } from './executions.schema.ts';

interface EventRow {
  seq: string;
  at: string | Date;
  data: ExecutionEvent;
}

async function eventsBehind(
  em: EntityManager,
  row: Execution,
  { after, limit, offset = 0 }: { after: number; limit: number; offset?: number },
): Promise<z.output<typeof executionEvent>[]> {
  const { project_id, topic } = executionSubject(row);
  const rows = await em.execute<EventRow[]>(
    'select seq, at, data from event where project_id = ? and topic = ? and seq > ? order by seq limit ? offset ?',
    [project_id, topic, after, limit, offset],
  );
  // A cancellation records its actor on the row; the event is written by the driver.
  const cancelledBy = (type: string) => (type === 'execution.cancelled' ? row.cancelled_by : null);
  return rows.map(({ seq, at, data: { type, at: when, path, actor, status, duration_ms, ...data } }) => ({
    seq: Number(seq),
    type,
    at: new Date(when ?? at),
    path: path ?? null,
    actor: actor ?? cancelledBy(type) ?? `workflow:${row.workflow_id}`,
    status: status ?? null,
    duration_ms: duration_ms ?? null,
    data: data as z.output<typeof executionEvent>['data'],
  }));
}

const behind = {
  after: z.int().min(0, 'must be at least 0').optional().describe('Only events behind this `seq`'),
};

export const listExecutionEvents = workflowOperation({
  name: 'workflows.listExecutionEvents',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Read the log of an execution, the oldest event first',
  input: z.object({
    ...executionId,
    ...behind,
    per_page: pageNumber.describe('Events; default 100, above 100 means 100'),
  }),
  output: z.array(executionEvent),
  async execute(context, { after = 0, per_page = maxPerPage, ...input }) {
    const row = await findExecution(context, input);
    return eventsBehind(context.em, row, { after, limit: Math.min(per_page, maxPerPage) });
  },
});

export const listExecutionLog = workflowOperation({
  name: 'workflows.listExecutionLog',
  kind: 'query',
  permission: 'browse_workflows',
  notInSteps: true,
  summary: 'List the log of an execution, the oldest event first',
  input: z.object({ ...executionId, ...pageInput }),
  output: pageOf(executionEvent),
  async execute(context, { workflow, execution, ...paging }) {
    const { em } = context;
    const row = await findExecution(context, { workflow, execution });
    const window = windowOf(paging);
    const events = await eventsBehind(em, row, { after: 0, ...window });
    const total = await totalOf(events.length, window, async () => {
      const { project_id, topic } = executionSubject(row);
      const [counted] = await em.execute<{ count: number }[]>(
        'select count(*)::integer as count from event where project_id = ? and topic = ?',
        [project_id, topic],
      );
      return counted?.count ?? 0;
    });
    return pageFrom(events, total, window);
  },
});

/** One look of who watches an execution. */
export const readExecutionEvents = workflowOperation({
  name: 'workflows.readExecutionEvents',
  kind: 'query',
  permission: 'browse_workflows',
  notInSteps: true,
  summary: 'The events of an execution: those there are, each as it comes, until it has ended',
  input: z.object({ ...executionId, ...behind }),
  output: z.object({ subject: eventSubject, events: z.array(executionEvent), ended: z.boolean() }),
  async execute(context, { after = 0, ...input }) {
    const row = await findExecution(context, input);
    const events = await eventsBehind(context.em, row, { after, limit: maxPerPage });
    const isOver = (terminalStatuses as readonly string[]).includes(row.status);
    // The end is only reported once no further page is left.
    return { subject: executionSubject(row), events, ended: isOver && events.length < maxPerPage };
  },
});
