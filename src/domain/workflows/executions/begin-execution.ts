import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { uuid7 } from '../../../lib/ids.ts';
import { advanceJob } from '../advance-job.ts';
import type { Workflow } from '../workflow.entity.ts';
import type { WorkflowContext } from '../workflows.ts';
import { mostGenerations, type TriggerType } from './execution.entity.ts';
import { type ExecutionEvent, executionSubject } from './execution-feed.ts';

/** What is to be executed, and why. */
export interface ExecutionRequest {
  /** Made beforehand with `uuid7`, by who has to name it in the same transaction. */
  id?: string;
  workflow: Pick<Workflow, 'id' | 'project_id' | 'version'>;
  /** The published one, when nothing is said. */
  version?: number;
  trigger: { id?: string; type: TriggerType };
  /** Any JSON value; left out with a delivery, from which it is derived when it is read. */
  input?: unknown;
  delivery_id?: string;
  /** The actor, of runs by hand. */
  started_by?: string;
  /** Default 0. */
  generation?: number;
  replay_of?: string;
  retry_of?: string;
}

type Needs = Pick<Services, 'clock' | 'events' | 'jobs'>;

// JSON values travel as texts: `json` keeps them to the letter, escapes that PostgreSQL's own functions refuse included.
const insertSql = `
  insert into execution (id, project_id, workflow_id, version, status, trigger_id, trigger_type, started_by, generation,
    delivery_id, replay_of, retry_of, input, created_at)
  select id, project_id, workflow_id, version, 'pending', trigger_id, trigger_type, started_by, generation,
    delivery_id, replay_of, retry_of, coalesce(input, $2)::json, created_at
  from json_to_recordset($1::json) as begun (id uuid, project_id integer, workflow_id uuid, version integer, trigger_id uuid,
    trigger_type text, started_by text, generation integer, delivery_id uuid, replay_of uuid, retry_of uuid, input text, created_at timestamptz)`;

/**
 * Begins executions, all of them in the transaction of `em`: rows that are pending, the first event of each, and the jobs that advance them.
 * @returns their ids, in the order of the requests
 * @throws DomainError `unavailable` while the job queue is not ready
 */
export async function beginExecutions(
  em: EntityManager,
  { clock, events, jobs }: Needs,
  requests: readonly ExecutionRequest[],
): Promise<string[]> {
  if (requests.length === 0) return [];
  const now = clock.now();
  const rows = requests.map(
    ({ id = uuid7(now), workflow, version = workflow.version, trigger, input, generation = 0, ...rest }) => ({
      ...rest,
      id,
      project_id: workflow.project_id,
      workflow_id: workflow.id,
      version,
      generation,
      trigger_id: trigger.id ?? null,
      trigger_type: trigger.type,
      input: input === undefined ? null : JSON.stringify(input),
      created_at: now,
    }),
  );
  // That of one alone, which may have megabytes, is not written as JSON within JSON.
  const [only, ...others] = rows;
  const input = others.length === 0 ? (only?.input ?? null) : null;
  const begun = input === null ? rows : rows.map((row) => ({ ...row, input: null }));
  const news = rows.map((row) => {
    const created: ExecutionEvent = {
      type: 'execution.created',
      at: now.toISOString(),
      status: 'pending',
      ...(row.started_by !== undefined || row.trigger_id !== null
        ? { actor: row.started_by ?? `trigger:${row.trigger_id}` }
        : {}),
      trigger: row.trigger_type,
    };
    return { subject: executionSubject(row), events: [created], isNew: true };
  });
  const payloads = rows.map(({ id }) => ({ execution_id: id }));
  await Promise.all([
    executeBound(em, insertSql, [JSON.stringify(begun), input]),
    events.append(em, news),
    jobs.sendMany(advanceJob, payloads, { em }),
  ]);
  return rows.map(({ id }) => id);
}

/** Begins one execution in the transaction of `em`: the one way to begin, whatever starts it. @returns its id */
export async function beginExecution(em: EntityManager, services: Needs, request: ExecutionRequest): Promise<string> {
  const [id] = await beginExecutions(em, services, [request]);
  if (id === undefined) throw new Error('nothing was begun');
  return id;
}

/**
 * Refuses to begin executions while as many of the organisation wait as may. Not within a transaction: to count them takes a connection of its own.
 * @throws DomainError `rate_limited`
 */
export async function requireCapacity({
  organization: { id, limits },
  workflows,
}: Pick<WorkflowContext, 'organization' | 'workflows'>): Promise<void> {
  if (await workflows.backlog.isFull(id, limits.workflow_backlog ?? workflows.limits.backlog))
    throw new DomainError('rate_limited', 'Too many executions of the organisation wait to begin; try again later');
}

/**
 * How many executions have started one another down to the ones a caller begins; 0 for who is no workflow.
 * @throws DomainError `limit_reached` where they would never end
 */
export async function generationOf({ em, actor }: Pick<WorkflowContext, 'em' | 'actor'>): Promise<number> {
  if (actor.execution === undefined) return 0;
  const sql = 'select generation from execution where id = $1';
  const [above] = await executeBound<{ generation: number }>(em, sql, [actor.execution]);
  const generation = (above?.generation ?? 0) + 1;
  if (generation > mostGenerations)
    throw new DomainError('limit_reached', `Executions start one another at most ${mostGenerations} times in a row`);
  return generation;
}
