import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { asUnavailable, isAway } from '../../../kernel/unavailable.ts';
import { hasMoreValues } from '../../../lib/objects.ts';
import { dateOf, millisecondsOf } from '../../../lib/timing.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import { advanceJob } from '../advance-job.ts';
import type { ExecutionError, ExecutionState, ExecutionStatus } from '../executions/execution.entity.ts';
import { type ExecutionEvent, executionSubject } from '../executions/execution-feed.ts';
import type { StepRun } from '../executions/step-run.entity.ts';
import { isSettled, type StepState } from './plan.ts';
import { grantFreeSlots, type SlotKey } from './slots.ts';

const mebibyte = 1024 * 1024;

/** Bytes of an output as JSON that a row holds; a larger one goes to the blob store. */
const mostInRow = mebibyte;
/** Of the largest output there may be: bytes, and values, as many as an expression reads. */
const largestOutput = { bytes: 25 * mebibyte, values: 1_000_000 };

/** A value as it is kept: JSON text, or the blob that holds it. */
export type StoredValue =
  | { text: string | null; sha256: null; size: number }
  | { text: null; sha256: string; size: number };

/** @throws DomainError `too_large` over 25 MiB or 1,000,000 values */
export async function storeValue(blobs: BlobStore, value: unknown): Promise<StoredValue> {
  if (value === null || value === undefined) return { text: null, sha256: null, size: 4 };
  if (typeof value === 'object' && hasMoreValues(value, largestOutput.values))
    throw new DomainError('too_large', `The output has more than ${largestOutput.values} values`);
  const text = JSON.stringify(value);
  // A text has at least as many bytes as UTF-16 units, and at most three times as many.
  const size = text.length * 3 <= mostInRow ? text.length : Buffer.byteLength(text);
  if (size > largestOutput.bytes)
    throw new DomainError('too_large', `The output has ${size} bytes; at most ${largestOutput.bytes} are kept`);
  if (size <= mostInRow) return { text, sha256: null, size };
  return { text: null, sha256: (await blobs.put(Buffer.from(text))).sha256, size };
}

/** Bytes of a value as JSON; none of one that is not there. */
export const sizeAsJson = (value: unknown): number =>
  value === null || value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));

/** The value that was stored. */
export async function readValue(blobs: BlobStore, value: unknown, sha256: string | null): Promise<unknown> {
  if (sha256 === null) return value ?? null;
  const parts: Buffer[] = [];
  for await (const part of blobs.read(sha256)) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

/** Bytes of a stored value as JSON. @param inRow those its row has of it, null: none */
export const sizeOfValue = async (blobs: BlobStore, inRow: number | null, sha256: string | null): Promise<number> =>
  sha256 === null ? (inRow ?? 0) : ((await blobs.sizes(sha256))?.identity ?? 0);

// JSON values travel as texts: `json` keeps them to the letter, escapes that PostgreSQL's own functions refuse included.
const writeSql = `
  insert into step_run (execution_id, path, position, step_id, type, status, tries, input, output, output_sha256, error, waits_for,
    tried_in, started_at, finished_at, next_try_at)
  select execution_id, path, position, step_id, type, status, tries, input::json, output::json, output_sha256, error::json,
    waits_for::json, tried_in, started_at, finished_at, next_try_at
  from json_to_recordset($1::json) as run (execution_id uuid, path text, position integer, step_id text, type text, status text,
    tries integer, input text, output text, output_sha256 text, error text, waits_for text, tried_in uuid,
    started_at timestamptz, finished_at timestamptz, next_try_at timestamptz)
  on conflict (execution_id, path) do update set status = excluded.status, tries = excluded.tries, input = excluded.input,
    output = excluded.output, output_sha256 = excluded.output_sha256, error = excluded.error, waits_for = excluded.waits_for,
    tried_in = excluded.tried_in, started_at = excluded.started_at, finished_at = excluded.finished_at, next_try_at = excluded.next_try_at`;

const jsonOf = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(value));
/** A step run as its row holds it. */
function rowOf(execution_id: string, { output, output_sha256, ...run }: StepState) {
  return {
    ...run,
    execution_id,
    input: jsonOf(run.input),
    output: output_sha256 === null ? jsonOf(output) : null,
    output_sha256,
    error: jsonOf(run.error),
    waits_for: jsonOf(run.waits_for),
    started_at: dateOf(run.started_at),
    finished_at: dateOf(run.finished_at),
    next_try_at: dateOf(run.next_try_at),
  };
}

/** How much one statement writes: UTF-16 units of JSON in its rows, of which one may have more by itself. */
export const statementLimits = { json: 8 * mebibyte };

/** Writes step runs, as they stand now. Their JSON is made for one statement at a time: inputs of a hundred executions may take gigabytes. */
async function writeStepRows(em: EntityManager, checkpoints: readonly Checkpoint[]): Promise<void> {
  let rows: ReturnType<typeof rowOf>[] = [];
  let size = 0;
  const write = async () => {
    if (rows.length > 0) await executeBound(em, writeSql, [JSON.stringify(rows)]);
    rows = [];
    size = 0;
  };
  for (const { lease, runs } of checkpoints)
    for (const run of runs) {
      const row = rowOf(lease.id, run);
      const own = [row.input, row.output, row.error].reduce((sum, text) => sum + (text?.length ?? 0), 0);
      if (size + own > statementLimits.json) await write();
      rows.push(row);
      size += own;
    }
  await write();
}

/** Puts an output that is too large for a row into the blob store. @throws DomainError `too_large` */
export async function storeOutput(services: Pick<Services, 'blobs'>, run: StepState): Promise<number> {
  const { text, sha256, size } = await storeValue(services.blobs, run.output);
  run.output_sha256 = text === null ? sha256 : null;
  return size;
}

type Row = Omit<StepRun, 'started_at' | 'finished_at' | 'next_try_at'> &
  Record<'started_at' | 'finished_at' | 'next_try_at', Date | string | null>;

/** Step runs from the first one of their executions on, or as many as a window has. */
interface StepWindow {
  offset: number;
  limit: number | null;
}

const sizeSql = `
  select execution_id as id, coalesce(sum(octet_length(input::text)), 0)::float8 + coalesce(sum(octet_length(output::text)), 0)::float8
      + coalesce(sum(octet_length(error::text)), 0)::float8 as bytes,
    coalesce(array_agg(output_sha256) filter (where output_sha256 is not null), '{}') as blobs
  from (select execution_id, input, output, error, output_sha256 from step_run where execution_id = any(string_to_array(?, ' ')::uuid[])
    order by execution_id, position offset ? limit ?) as run group by execution_id`;

/** Bytes of the inputs, outputs and errors that `readStepRows` reads, by execution; executions without step runs are absent. */
export async function sizesOfStepRows(
  em: EntityManager,
  { blobs }: Pick<Services, 'blobs'>,
  ids: readonly string[],
  { offset, limit }: StepWindow = { offset: 0, limit: null },
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  if (ids.length === 0) return sizes;
  const found = await em.execute<{ id: string; bytes: number; blobs: string[] }[]>(sizeSql, [
    ids.join(' '),
    offset,
    limit,
  ]);
  for (const { id, bytes, blobs: outputs } of found) {
    let size = bytes;
    for (const sha256 of outputs) size += await sizeOfValue(blobs, null, sha256);
    sizes.set(id, size);
  }
  return sizes;
}

/** The same of all together. */
export async function sizeOfStepRows(...read: Required<Parameters<typeof sizesOfStepRows>>): Promise<number> {
  return [...(await sizesOfStepRows(...read)).values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** The step runs of executions, or those within a window, by execution, in the order they began; outputs are read back from where they lie. */
export async function readStepRows(
  em: EntityManager,
  { blobs }: Pick<Services, 'blobs'>,
  ids: readonly string[],
  { offset, limit }: StepWindow = { offset: 0, limit: null },
): Promise<Map<string, StepState[]>> {
  const found = new Map<string, StepState[]>();
  if (ids.length === 0) return found;
  const rows = await em.execute<Row[]>(
    `select * from step_run where execution_id = any(string_to_array(?, ' ')::uuid[]) order by execution_id, position
     offset ? limit ?`,
    [ids.join(' '), offset, limit],
  );
  for (const { execution_id, output, ...row } of rows) {
    const list = found.get(execution_id) ?? [];
    found.set(execution_id, list);
    list.push({
      ...row,
      input: row.input ?? null,
      output: await readValue(blobs, output, row.output_sha256 ?? null),
      output_sha256: row.output_sha256 ?? null,
      error: row.error ?? null,
      waits_for: row.waits_for ?? null,
      tried_in: row.tried_in ?? null,
      started_at: millisecondsOf(row.started_at) ?? 0,
      finished_at: millisecondsOf(row.finished_at),
      next_try_at: millisecondsOf(row.next_try_at),
    });
  }
  return found;
}

/** A driver's lease of an execution: its writes count only until another driver takes over. */
export interface Lease {
  id: string;
  project_id: number;
  workflow_id: string;
  attempt: number;
}

/** What one transaction keeps of an execution: where it stands, the step runs that have changed, and the events of it. */
export interface Checkpoint {
  lease: Lease;
  status: ExecutionStatus;
  outcome: string | null;
  /** JSON text; null: none, or in a blob. */
  output: string | null;
  output_sha256: string | null;
  error: ExecutionError | null;
  state: ExecutionState;
  started_at: number | null;
  waiting_until: number | null;
  /** A step has come to its end since the last checkpoint. */
  hasProgressed: boolean;
  /** It has no driver until something wakes it. */
  isReleased: boolean;
  /** It goes on at once, on any free worker. */
  isHandedOn: boolean;
  runs: readonly StepState[];
  events: readonly ExecutionEvent[];
}

/** Whether it ends the execution. */
const isOver = ({ status }: Pick<Checkpoint, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Whether the execution has come so far that it cannot be what its process dies of: a step has ended, or it has come to rest by itself. */
export const clearsSuspicion = ({
  hasProgressed,
  isReleased,
  isHandedOn,
}: Pick<Checkpoint, 'hasProgressed' | 'isReleased' | 'isHandedOn'>): boolean =>
  hasProgressed || (isReleased && !isHandedOn);

/** What became of a checkpoint; null: somebody else advances the execution, and nothing was kept. */
type Kept = {
  /** Something has happened meanwhile: it has not been released. */
  wake: boolean;
  cancel: string | null;
} | null;

const updateSql = `
  update execution set status = kept.status, outcome = kept.outcome, output = kept.output::json, output_sha256 = kept.output_sha256,
    error = kept.error::json, state = kept.state::json, started_at = kept.started_at, finished_at = kept.finished_at,
    crashes = case when kept.has_progressed then 0 else execution.crashes end,
    waiting_until = case when kept.is_released and not execution.wake then kept.waiting_until end,
    driver_id = case when kept.is_ended or kept.is_released and not execution.wake then null else execution.driver_id end,
    suspect = case when kept.is_clear then null when kept.is_released and not execution.wake and execution.suspect is not null then 'waiting'
      else execution.suspect end,
    suspect_group = case when kept.is_clear then null else execution.suspect_group end
  from json_to_recordset($1::json) as kept (id uuid, attempt integer, status text, outcome text, output text, output_sha256 text,
    error text, state text, started_at timestamptz, finished_at timestamptz, waiting_until timestamptz, has_progressed boolean,
    is_clear boolean, is_released boolean, is_ended boolean)
  where execution.id = kept.id and execution.attempt = kept.attempt and execution.status in ('pending', 'running', 'paused')
    and execution.driver_id is not null
  returning execution.id, execution.wake, execution.slot_key,
    case when execution.cancel_requested then coalesce(execution.cancel_reason, 'cancelled') end as cancel`;

interface Updated {
  id: string;
  wake: boolean;
  slot_key: string | null;
  cancel: string | null;
}

/** What its row is to hold. */
const rowFor = (checkpoint: Checkpoint, now: Date) => ({
  id: checkpoint.lease.id,
  attempt: checkpoint.lease.attempt,
  status: checkpoint.status,
  outcome: checkpoint.outcome,
  output: checkpoint.output,
  output_sha256: checkpoint.output_sha256,
  error: checkpoint.error === null ? null : JSON.stringify(checkpoint.error),
  state: JSON.stringify(checkpoint.state),
  started_at: checkpoint.started_at === null ? null : new Date(checkpoint.started_at),
  finished_at: isOver(checkpoint) ? now : null,
  waiting_until: checkpoint.waiting_until === null ? null : new Date(checkpoint.waiting_until),
  has_progressed: checkpoint.hasProgressed,
  is_clear: clearsSuspicion(checkpoint),
  is_released: checkpoint.isReleased,
  is_ended: isOver(checkpoint),
});

type KeepNeeds = Pick<Services, 'sharedClock' | 'events' | 'jobs'>;

/** Keeps checkpoints in one transaction, those of executions that others have taken over left out. */
async function keepCheckpoints(
  em: EntityManager,
  services: KeepNeeds,
  checkpoints: readonly Checkpoint[],
): Promise<Map<string, Kept>> {
  const now = services.sharedClock.recent();
  const updated = await executeBound<Updated>(em, updateSql, [
    JSON.stringify(checkpoints.map((one) => rowFor(one, now))),
  ]);
  const known = new Map(updated.map((row) => [row.id, row]));
  const kept = checkpoints.filter(({ lease }) => known.has(lease.id));
  await writeStepRows(em, kept);
  await services.events.append(
    em,
    kept.map(({ lease, events }) => ({ subject: executionSubject(lease), events })),
  );
  const handedOn = kept.filter((checkpoint) => checkpoint.isHandedOn && !isOver(checkpoint));
  await services.jobs.sendMany(
    advanceJob,
    handedOn.map(({ lease }) => ({ execution_id: lease.id })),
    { em },
  );
  const freed = new Map<string, SlotKey>();
  for (const { lease } of kept.filter(isOver)) {
    const key = known.get(lease.id)?.slot_key ?? null;
    if (key !== null) freed.set(`${lease.workflow_id} ${key}`, { workflow_id: lease.workflow_id, key });
  }
  // In one order, so that no two transactions wait for each other.
  for (const name of [...freed.keys()].sort()) {
    const slot = freed.get(name);
    if (slot) await grantFreeSlots(em, services, slot);
  }
  return new Map(updated.map(({ id, wake, cancel }) => [id, { wake, cancel }]));
}

/** Checkpoints that share a transaction at most. */
const mostTogether = 100;
/** Transactions under way: while the database writes one to the disk, the next is put together. */
const mostUnderWay = 2;
/** How often a checkpoint is tried while the database is away, and the wait between tries in milliseconds. */
const mostTries = 8;
const pause = 250;

type Needs = Pick<Services, 'orm' | 'sharedClock' | 'events' | 'jobs' | 'metrics'>;

interface Waiting {
  checkpoint: Checkpoint;
  resolve(kept: Kept): void;
  reject(error: unknown): void;
}

/**
 * Writes the checkpoints of all executions a process advances. Checkpoints that arrive while a transaction is under way share the next one, so that
 * many executions cost few commits and a single one waits for nothing.
 */
export class CheckpointWriter {
  readonly #services: Needs;
  #waiting: Waiting[] = [];
  #underWay = 0;

  constructor(services: Needs) {
    this.#services = services;
  }

  /** @returns when it is durable; null: it was not kept. Rejects when the database stays away. */
  write(checkpoint: Checkpoint): Promise<Kept> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ checkpoint, resolve, reject });
      if (this.#underWay < mostUnderWay) queueMicrotask(() => this.#next());
    });
  }

  #next(): void {
    if (this.#underWay >= mostUnderWay || this.#waiting.length === 0) return;
    const together = this.#takeTogether();
    this.#underWay += 1;
    void this.#write(together).finally(() => {
      this.#underWay -= 1;
      this.#next();
    });
  }

  /** The checkpoints of the next transaction, whose outputs one statement writes. */
  #takeTogether(): Waiting[] {
    let count = 0;
    let size = 0;
    for (const { checkpoint } of this.#waiting) {
      size += checkpoint.output?.length ?? 0;
      if (count === mostTogether || (count > 0 && size > statementLimits.json)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #write(together: readonly Waiting[]): Promise<void> {
    try {
      const kept = await this.#keep(together.map(({ checkpoint }) => checkpoint));
      for (const { checkpoint, resolve } of together) {
        const one = kept.get(checkpoint.lease.id) ?? null;
        if (one !== null) this.#count(checkpoint);
        resolve(one);
      }
    } catch (error) {
      if (together.length === 1) return together[0]?.reject(error);
      // One that cannot be written must not take the others with it.
      for (const one of together) await this.#write([one]);
    }
  }

  #count(checkpoint: Checkpoint): void {
    const { metrics } = this.#services;
    for (const run of checkpoint.runs) if (isSettled(run)) metrics.stepSettled(run.type, run.status);
    if (isOver(checkpoint)) metrics.executionEnded(checkpoint.status);
  }

  async #keep(checkpoints: readonly Checkpoint[]): Promise<Map<string, Kept>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#services.orm.em
          .fork()
          .transactional((em) => keepCheckpoints(em, this.#services, checkpoints));
      } catch (thrown) {
        if (!isAway(thrown) || tries >= mostTries) throw asUnavailable(thrown);
        await sleep(pause * tries);
      }
    }
  }
}
