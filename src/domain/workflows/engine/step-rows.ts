import type { EntityManager } from '@mikro-orm/postgresql';
import type { BlobStore } from '../../../ports/blobs.ts';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import { executeBound } from '../../sql.ts';
import type { StepRun } from '../executions/step-run.entity.ts';
import type { StepState } from './plan.ts';

const mebibyte = 1024 * 1024;

/** Bytes of an output as JSON that a row holds; a larger one goes to the blob store. */
const mostInRow = mebibyte;
/** Bytes of the largest output there may be. */
const largestOutput = 25 * mebibyte;

/** A value as it is kept: JSON text, or the blob that holds it. */
export type StoredValue =
  | { text: string | null; sha256: null; size: number }
  | { text: null; sha256: string; size: number };

/** @throws DomainError `too_large` over 25 MiB */
export async function storeValue(blobs: BlobStore, value: unknown): Promise<StoredValue> {
  if (value === null || value === undefined) return { text: null, sha256: null, size: 4 };
  const text = JSON.stringify(value);
  // A text has at least as many bytes as UTF-16 units, and at most three times as many.
  const size = text.length * 3 <= mostInRow ? text.length : Buffer.byteLength(text);
  if (size > largestOutput)
    throw new DomainError('too_large', `The output has ${size} bytes; at most ${largestOutput} are kept`);
  if (size <= mostInRow) return { text, sha256: null, size };
  return { text: null, sha256: (await blobs.put(Buffer.from(text))).sha256, size };
}

/** The value that was stored. */
export async function readValue(blobs: BlobStore, value: unknown, sha256: string | null): Promise<unknown> {
  if (sha256 === null) return value ?? null;
  const parts: Buffer[] = [];
  for await (const part of blobs.read(sha256)) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

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
const timeOf = (at: number | null) => (at === null ? null : new Date(at));

/** A step run as its row holds it. */
export function rowOf(execution_id: string, { output, output_sha256, ...run }: StepState) {
  return {
    ...run,
    execution_id,
    input: jsonOf(run.input),
    output: output_sha256 === null ? jsonOf(output) : null,
    output_sha256,
    error: jsonOf(run.error),
    waits_for: jsonOf(run.waits_for),
    started_at: timeOf(run.started_at),
    finished_at: timeOf(run.finished_at),
    next_try_at: timeOf(run.next_try_at),
  };
}

/** Writes step runs of any executions, as they stand now. */
export async function writeStepRows(em: EntityManager, rows: readonly ReturnType<typeof rowOf>[]): Promise<void> {
  if (rows.length > 0) await executeBound(em, writeSql, [JSON.stringify(rows)]);
}

/** Puts an output that is too large for a row into the blob store. @throws DomainError `too_large` */
export async function storeOutput(services: Pick<Services, 'blobs'>, run: StepState): Promise<number> {
  const { text, sha256, size } = await storeValue(services.blobs, run.output);
  run.output_sha256 = text === null ? sha256 : null;
  return size;
}

type Row = Omit<StepRun, 'started_at' | 'finished_at' | 'next_try_at'> &
  Record<'started_at' | 'finished_at' | 'next_try_at', Date | string | null>;

const millisecondsOf = (at: Date | string | null) => (at === null ? null : new Date(at).getTime());

/** The step runs of executions, or those within a window, by execution, in the order they began; outputs are read back from where they lie. */
export async function readStepRows(
  em: EntityManager,
  { blobs }: Pick<Services, 'blobs'>,
  ids: readonly string[],
  { offset, limit }: { offset: number; limit: number | null } = { offset: 0, limit: null },
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
