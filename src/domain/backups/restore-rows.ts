import { randomUUID } from 'node:crypto';
import { ConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { isDeeper } from '../../kernel/json-input.ts';
import { faultOf } from '../../kernel/parse.ts';
import { type BackedUpTable, batch, type RowOwner, rowsFile } from './backed-up-table.ts';

/** Levels of a row: values of its own may have 200. */
const mostLevels = 300;

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
  if (isDeeper(Buffer.from(line), mostLevels)) throw refuse(`is nested more than ${mostLevels} levels deep`, undefined);
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
function placeOf(table: BackedUpTable, { project, ids }: RowOwner, row: Record<string, unknown>): object {
  if (!table.below) return { project_id: project.id };
  const { column, table: above } = table.below;
  const id = ids.get(above)?.get(row[column]);
  if (id !== undefined) return { [column]: id };
  throw new DomainError('invalid_request', `${rowsFile(table)}: ${column} ${row[column]} is in no row of ${above}`);
}

const newNumbersSql = `select nextval(pg_get_serial_sequence(?, 'id'))::integer as id from generate_series(1, ?::integer)`;

/** Gives rows ids of this server. @param ids keeps what became of which */
async function giveIds(
  em: EntityManager,
  { name, isNamed }: BackedUpTable,
  rows: readonly Record<string, unknown>[],
  ids: Map<unknown, unknown>,
): Promise<void> {
  const numbers = isNamed === 'serial' ? await em.execute<{ id: number }[]>(newNumbersSql, [name, rows.length]) : [];
  for (const [at, row] of rows.entries()) {
    const id = isNamed === 'serial' ? numbers[at]?.id : randomUUID();
    ids.set(row.id, id);
    row.id = id;
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
  const ids = new Map<unknown, unknown>();
  owner.ids.set(table.name, ids);
  let waiting: Record<string, unknown>[] = [];
  let written = 0;
  const flush = async () => {
    if (table.isNamed) await giveIds(em, table, waiting, ids);
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
