import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { Permission } from '../../../kernel/actor.ts';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import type { Caller } from '../../../ports/expressions.ts';
import { Organization, type OrganizationRef } from '../../organizations/organization.entity.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import type { Delivery } from '../deliveries/delivery.entity.ts';
import { mostOfInput } from '../deliveries/delivery-input.ts';
import { deliveriesOf, inputOf } from '../deliveries/input-of.ts';
import type { Execution } from '../executions/execution.entity.ts';
import { Workflow, WorkflowVersion } from '../workflow.entity.ts';
import type { WorkflowServices } from '../workflows.ts';
import type { Weighed } from './admission.ts';
import { readStepRows, sizesOfStepRows } from './checkpoints.ts';
import type { StepState } from './plan.ts';
import { mostCrashes, releaseExecutions } from './workers.ts';

/** What executions of one version of a workflow go by. */
export interface LoadedVersion {
  definition: WorkflowDefinition;
  permissions: readonly Permission[];
  workflow: { id: string; name: string; version: number };
  project: ProjectRef;
  organization: OrganizationRef;
}

/** Names and limits may change while an execution runs; its definition never does. */
const patience = 5_000;

/** The versions of the versions a process has lately executed. */
export class VersionCache {
  readonly #kept = new LRUCache<string, LoadedVersion>({ max: 500, ttl: patience });

  /** @returns null when the workflow's project is deleted */
  async find(fork: () => EntityManager, id: string, version: number): Promise<LoadedVersion | null> {
    const name = `${id} ${version}`;
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const em = fork();
    const workflow = await em.findOne(Workflow, { id }, { disableIdentityMap: true });
    const of = await em.findOne(WorkflowVersion, { workflow_id: id, number: version }, { disableIdentityMap: true });
    const project = workflow && (await loadProject(em, { id: workflow.project_id }));
    if (!workflow || !of || !project) return null;
    const organization = await em.findOneOrFail(
      Organization,
      { id: project.organization_id },
      { disableIdentityMap: true },
    );
    const loaded = {
      definition: of.definition,
      permissions: of.permissions,
      workflow: { id, name: workflow.name, version },
      project,
      organization,
    };
    this.#kept.set(name, loaded);
    return loaded;
  }

  /** Forgets all: a project is deleted. */
  clear(): void {
    this.#kept.clear();
  }
}

/** An execution with what its driver needs to know. */
export interface Claimed {
  row: ClaimedRow;
  version: LoadedVersion;
  runs: readonly StepState[];
  input: unknown;
}

/** Somebody else advances the execution: nothing more may be written. */
export class Fenced extends Error {
  override name = 'Fenced';
}

/** An execution as its row says, times as the driver of the database gives them. */
export type ClaimedRow = Pick<
  Execution,
  | 'id'
  | 'project_id'
  | 'workflow_id'
  | 'version'
  | 'status'
  | 'trigger_id'
  | 'trigger_type'
  | 'delivery_id'
  | 'input'
  | 'attempt'
  | 'crashes'
  | 'suspect'
  | 'suspect_group'
  | 'cancel_requested'
  | 'cancel_reason'
  | 'generation'
  | 'slot_key'
  | 'has_slot'
  | 'state'
> & { started_at: Date | string | null; created_at: Date | string; is_mine: boolean };

// Where there is a driver a signal is left for it; decided in one statement, so that none ends unseen in between.
const claimSql = `
  update execution set
    wake = driver_id is not null,
    attempt = attempt + (driver_id is null)::integer,
    waiting_until = case when driver_id is not null then waiting_until end,
    driver_id = coalesce(driver_id, $1::uuid)
  where id = any($2::uuid[]) and status in ('pending', 'running', 'paused')
    and (slot_key is null or has_slot or cancel_requested)
    and (driver_id is not null or suspect is null or cancel_requested
      or $3::boolean and (waiting_until is null or waiting_until <= $4::timestamptz))
  returning id, project_id, workflow_id, version, status, trigger_id, trigger_type, delivery_id, input, attempt, crashes, suspect, suspect_group,
    cancel_requested, cancel_reason, generation, slot_key, has_slot, state, started_at, created_at, not wake as is_mine`;

const weighSql = `
  select execution.id, execution.workflow_id, organization_id, execution.state is not null as has_begun, octet_length(execution.input::text) as input, raw_size,
    body is not null as has_body, body_sha256, headers->>'content-encoding' as coding
  from execution join project on project.id = execution.project_id
    left join delivery on execution.input is null and delivery.id = execution.delivery_id
  where execution.id = any($1::uuid[]) and status in ('pending', 'running', 'paused') and driver_id is null`;

interface WeighedRow extends Caller {
  id: string;
  has_begun: boolean;
  input: number | null;
  raw_size: number | null;
  has_body: boolean;
  body_sha256: string | null;
  coding: string | null;
}

/** What executions take in memory at most when they are taken up, before anything of that is read; nothing for one that cannot be taken up. */
export async function weigh(
  em: EntityManager,
  { blobs, workflows }: Pick<WorkflowServices, 'blobs' | 'workflows'>,
  ids: readonly string[],
): Promise<Weighed[]> {
  if (ids.length === 0) return [];
  const rows = await executeBound<WeighedRow>(em, weighSql, [ids]);
  const begun = rows.filter(({ has_begun }) => has_begun).map(({ id }) => id);
  const runs = await sizesOfStepRows(em, { blobs }, begun);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const row = byId.get(id);
    if (row === undefined) return { id, caller: null, bytes: 0 };
    const { workflow_id, organization_id, input, raw_size, has_body, body_sha256, coding } = row;
    const delivered =
      raw_size === null
        ? 0
        : mostOfInput(
            { raw_size, body: has_body || null, body_sha256 },
            coding ?? undefined,
            workflows.limits.body_bytes,
          );
    return { id, caller: { workflow_id, organization_id }, bytes: (input ?? delivered) + (runs.get(id) ?? 0) };
  });
}

/** Which suspects may be claimed: none, or those whose wait is over at a time. */
interface ClaimOptions {
  suspects: { now: Date } | null;
}

/**
 * Makes this process the driver of executions that have none. Executions that have ended, or wait for a slot, are left; a driver
 * that has died is taken away by `buryWorkers`.
 */
export async function claim(
  em: EntityManager,
  driver: string,
  ids: readonly string[],
  { suspects }: ClaimOptions,
): Promise<ClaimedRow[]> {
  if (ids.length === 0) return [];
  const values = [driver, [...new Set(ids)], suspects !== null, suspects?.now ?? null];
  const rows = await executeBound<ClaimedRow>(em, claimSql, values);
  return rows.filter(({ is_mine }) => is_mine);
}

/** Which of some executions could be claimed: none that has ended, is advanced, waits for a slot, or whose project is deleted. @returns their ids */
export async function findClaimable(em: EntityManager, ids: readonly string[]): Promise<string[]> {
  const rows = await executeBound<{ id: string }>(
    em,
    `select id from execution where id = any($1::uuid[]) and driver_id is null and status in ('pending', 'running', 'paused')
       and (slot_key is null or has_slot or cancel_requested)
       and not exists (select 1 from project where project.id = project_id and deleted_at is not null)`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** Suspects that no process advances and whose wait is over. @returns their ids */
export async function findFreeSuspects(em: EntityManager, now: Date, most: number): Promise<string[]> {
  const rows = await executeBound<{ id: string }>(
    em,
    `select id from execution where suspect is not null and driver_id is null and status in ('pending', 'running', 'paused')
       and (waiting_until is null or waiting_until <= $1) and (slot_key is null or has_slot) order by id limit $2`,
    [now, most],
  );
  return rows.map(({ id }) => id);
}

/** Notes that a suspect has its turn: from here on a loss says something about it. @returns whether it is this driver's still */
export async function markActing(
  em: EntityManager,
  { id, attempt }: { id: string; attempt: number },
): Promise<boolean> {
  const rows = await executeBound<unknown>(
    em,
    `update execution set suspect = 'acting' where id = $1 and attempt = $2 and driver_id is not null returning id`,
    [id, attempt],
  );
  return rows.length > 0;
}

/** A signal for an execution that this process advances. */
interface PendingSignals {
  id: string;
  attempt: number;
  wake: boolean;
  cancel: string | null;
  /** Its project is deleted. */
  is_deleted: boolean;
}

/** Reads what has happened to executions that are advanced here; one that is missing is another's. */
export async function readSignals(
  em: EntityManager,
  driver: string,
  ids: readonly string[],
): Promise<PendingSignals[]> {
  return executeBound<PendingSignals>(
    em,
    `select id, attempt, wake, case when cancel_requested then coalesce(cancel_reason, 'cancelled') end as cancel,
       exists (select 1 from project where project.id = project_id and deleted_at is not null) as is_deleted
     from execution where id = any($1::uuid[]) and driver_id = $2`,
    [ids, driver],
  );
}

/** Reads the signal that was left for a driver. @returns false when another process advances the execution */
export async function clearWake(em: EntityManager, { id, attempt }: { id: string; attempt: number }): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `update execution set wake = false where id = ? and attempt = ? and driver_id is not null returning id`,
    [id, attempt],
  );
  return rows.length > 0;
}

/** How long executions of a deleted project are left alone, milliseconds. */
const deletedPause = 600_000;

/** What cannot be read is an error, unless the execution is only to be ended. */
const orNothing =
  <T>(isGivenUp: boolean, nothing: T) =>
  (error: unknown): T => {
    if (isGivenUp) return nothing;
    throw error;
  };

/** What executions have beside their own rows. */
export interface RelatedRows {
  /** Step runs by execution. */
  runs: ReadonlyMap<string, StepState[]>;
  /** By their own ids. */
  deliveries: ReadonlyMap<string, Delivery>;
}

/** Reads what executions have that were claimed together, in a query for each kind. */
export async function readRelatedRows(
  em: EntityManager,
  services: Pick<Services, 'blobs'>,
  rows: readonly ClaimedRow[],
): Promise<RelatedRows> {
  const begun = rows.filter(({ state }) => state !== null).map(({ id }) => id);
  return { runs: await readStepRows(em, services, begun), deliveries: await deliveriesOf(em, rows) };
}

/**
 * Reads what a driver needs to know of an execution that was claimed.
 * @param known null: the rows of executions claimed together could not be read together
 * @returns null when its project is deleted: it is left alone, for that may come back
 */
export async function readClaimed(
  services: WorkflowServices,
  versions: VersionCache,
  row: ClaimedRow,
  known: RelatedRows | null,
): Promise<Claimed | null> {
  const fork = () => services.orm.em.fork();
  const version = await versions.find(fork, row.workflow_id, row.version);
  if (version === null) {
    await releaseExecutions(services, [row], deletedPause);
    return null;
  }
  const isGivenUp = row.crashes >= mostCrashes;
  const nothing: RelatedRows = { runs: new Map(), deliveries: new Map() };
  const { runs, deliveries } =
    known ?? (await readRelatedRows(fork(), services, [row]).catch(orNothing(isGivenUp, nothing)));
  const input = await inputOf(services, row, deliveries).catch(orNothing(isGivenUp, null));
  return { row, version, runs: runs.get(row.id) ?? [], input };
}
