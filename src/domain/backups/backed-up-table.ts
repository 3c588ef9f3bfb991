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
  /** The columns it does not hold, each with why. */
  left: Record<string, string>;
  /** Columns that every restored row gets a new value for. */
  anew?(owner: RowOwner, row: Record<string, unknown>): Promise<object>;
}

/** Whose rows are restored. */
export interface RowOwner {
  services: Services;
  project: { id: number; organization_id: number };
}

/** Where the rows of a table lie in a backup. */
export const rowsFile = ({ name }: Pick<BackedUpTable, 'name'>) => `rows/${name}.jsonl`;

/** One row as a line of JSON. */
export const rowLine = (table: Pick<BackedUpTable, 'row'>, row: object) =>
  JSON.stringify(z.encode(table.row, row as never));

/** The rows of a project as lines of JSON, in the order of the key. */
export async function* rowLines(em: EntityManager, table: BackedUpTable, projectId: number): AsyncGenerator<string> {
  const { entity, key } = table;
  let after: unknown;
  for (;;) {
    const where = { project_id: projectId, ...(key && after !== undefined && { [key]: { $gt: after } }) };
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
  let waiting: object[] = [];
  let written = 0;
  const flush = async () => {
    if (waiting.length > 0) await em.insertMany(table.entity, waiting as never).catch(refuse);
    written += waiting.length;
    waiting = [];
  };
  for await (const row of readRows(table, lines)) {
    waiting.push({ ...row, ...(await table.anew?.(owner, row)), project_id: owner.project.id });
    if (waiting.length === batch) await flush();
  }
  await flush();
  return written;
}
