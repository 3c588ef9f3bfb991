import { ConstraintViolationException, type EntitySchema } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../errors.ts';
import { faultOf } from '../parse.ts';
import type { Services } from '../services.ts';

/** Rows read or written at once. */
const batch = 500;

/** A table of which a backup holds the rows of one project. */
export interface BackedUpTable {
  /** Name of the table, and of its file in a backup. */
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: a list of tables has no common entity; each row is checked against `row`
  entity: EntitySchema<any>;
  /** The columns a backup holds, as they are written. */
  row: z.ZodObject;
  /** A column whose values differ within a project, to read by; absent where a project has one row. */
  key?: string;
  /** Of which rows a project's are, where that is not said by `project_id`. */
  ofProject?(em: EntityManager, projectId: number): Promise<object>;
  /** Rows of other tables name its rows by `id`, which is another one where they are restored. */
  isNamed?: true;
  /** The column that names a row of a table before it, instead of `project_id`. */
  below?: { column: string; table: string };
  /** The columns it does not hold, each with why. */
  left: Record<string, string>;
  /** Columns that every restored row gets a new value for. */
  anew?(owner: RowOwner, row: Record<string, unknown>): Promise<object>;
}

/** Whose rows are restored. */
export interface RowOwner {
  services: Services;
  project: { id: number; organization_id: number };
  /** What the numbers of a backup have become, by table. */
  numbers: Map<string, Map<unknown, unknown>>;
}

/** Where the rows of a table lie in a backup. */
export const rowsFile = ({ name }: Pick<BackedUpTable, 'name'>) => `rows/${name}.jsonl`;

/** One row as a line of JSON. */
export const rowLine = (table: Pick<BackedUpTable, 'row'>, row: object) =>
  JSON.stringify(z.encode(table.row, row as never));

/** The rows of a project as lines of JSON, in the order of the key. */
export async function* rowLines(em: EntityManager, table: BackedUpTable, projectId: number): AsyncGenerator<string> {
  const { entity, key } = table;
  const ofProject = (await table.ofProject?.(em, projectId)) ?? { project_id: projectId };
  let after: unknown;
  for (;;) {
    const where = { ...ofProject, ...(key && after !== undefined && { [key]: { $gt: after } }) };
    const rows = (await em.find(entity, where as never, {
      ...(key && { orderBy: { [key]: 'asc' } as never }),
      limit: batch,
      disableIdentityMap: true,
    })) as Record<string, unknown>[];
    for (const row of rows) yield rowLine(table, row);
    if (!key || rows.length < batch) return;
    after = rows.at(-1)?.[key];
  }
}

/**
 * Reads lines of a table's file.
 * @throws DomainError `invalid_request` naming the file and line that cannot be a row.
 */
export async function* readRows<Row extends z.ZodObject>(
  table: Pick<BackedUpTable, 'name'> & { row: Row },
  lines: AsyncIterable<string>,
): AsyncGenerator<z.output<Row>> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const refuse = (problem: string, cause: unknown) =>
      new DomainError('invalid_request', `${rowsFile(table)}, line ${number}: ${problem}`, { cause });
    yield readRow(table.row, line, refuse);
  }
}

function readRow<Row extends z.ZodObject>(
  shape: Row,
  line: string,
  refuse: (problem: string, cause: unknown) => DomainError,
): z.output<Row> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw refuse('is not JSON', cause);
  }
  const read = shape.safeParse(value, { reportInput: true });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw refuse(`${issue?.path.join('.')} ${issue ? faultOf(issue) : 'is not valid'}`, read.error);
}

/** Where a row belongs: to its project, or to a row of a table before it. @throws DomainError `invalid_request` */
function placeOf(table: BackedUpTable, { project, numbers }: RowOwner, row: Record<string, unknown>): object {
  if (!table.below) return { project_id: project.id };
  const { column, table: above } = table.below;
  const id = numbers.get(above)?.get(row[column]);
  if (id !== undefined) return { [column]: id };
  throw new DomainError('invalid_request', `${rowsFile(table)}: ${column} ${row[column]} is in no row of ${above}`);
}

const newNumbersSql = `select nextval(pg_get_serial_sequence(?, 'id'))::integer as id from generate_series(1, ?::integer)`;

/** Gives rows numbers of this server. @param numbers keeps what became of which */
async function renumber(
  em: EntityManager,
  { name }: BackedUpTable,
  rows: readonly Record<string, unknown>[],
  numbers: Map<unknown, unknown>,
): Promise<void> {
  const fresh = await em.execute<{ id: number }[]>(newNumbersSql, [name, rows.length]);
  for (const [at, row] of rows.entries()) {
    numbers.set(row.id, fresh[at]?.id);
    row.id = fresh[at]?.id;
  }
}

/**
 * Writes the rows of a file as those of a project.
 * @returns how many
 * @throws DomainError `invalid_request` for rows that cannot be together.
 */
export async function insertRows(
  em: EntityManager,
  table: BackedUpTable,
  owner: RowOwner,
  lines: AsyncIterable<string>,
): Promise<number> {
  const refuse = (cause: unknown) => {
    if (!(cause instanceof ConstraintViolationException)) throw cause;
    const problem = `${rowsFile(table)}: its rows contradict each other; take another backup`;
    throw new DomainError('invalid_request', problem, { cause });
  };
  const numbers = new Map<unknown, unknown>();
  owner.numbers.set(table.name, numbers);
  let waiting: Record<string, unknown>[] = [];
  let written = 0;
  const flush = async () => {
    if (table.isNamed) await renumber(em, table, waiting, numbers);
    if (waiting.length > 0) await em.insertMany(table.entity, waiting as never).catch(refuse);
    written += waiting.length;
    waiting = [];
  };
  for await (const row of readRows(table, lines)) {
    waiting.push({ ...row, ...(await table.anew?.(owner, row)), ...placeOf(table, owner, row) });
    if (waiting.length === batch) await flush();
  }
  await flush();
  return written;
}
