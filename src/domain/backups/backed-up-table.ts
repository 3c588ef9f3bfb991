import {
  BooleanType,
  DateTimeType,
  type EntitySchema,
  type InferEntity,
  IntegerType,
  TextType,
  UuidType,
} from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Services } from '../../kernel/services.ts';
import { timestamp } from '../../kernel/shapes.ts';

/** Rows read or written at once. */
export const batch = 500;

/** A table of which a backup holds the rows of one project. */
export interface BackedUpTable {
  /** Name of the table, and of its file in a backup. */
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: a list of tables has no common entity; each row is checked against `row`
  entity: EntitySchema<any>;
  /** The columns a backup holds, as they are written: see `backedUp`. */
  row: z.ZodObject;
  /** Columns whose values together differ within a project, to read by; absent where a project has one row. */
  key?: readonly [string, ...string[]];
  /** Of which rows a project's are, where that is not said by `project_id`. */
  ofProject?(em: EntityManager, projectId: number): Promise<object>;
  /** What `id` is where rows of other tables name its rows by it; it is another one where they are restored. */
  isNamed?: 'serial' | 'uuid';
  /** The column that names a row of a table before it, instead of `project_id`. */
  below?: { column: string; table: string };
  /** The columns it does not hold, each with why. */
  left: Record<string, string>;
  /** Columns that every restored row gets a new value for. */
  anew?(owner: RowOwner, row: Record<string, unknown>): Promise<object>;
}

/** What the types of columns are in a backup; of `json` columns only their owner knows. */
const shapes = new Map<unknown, z.ZodType>([
  [UuidType, z.uuid()],
  [TextType, z.string()],
  [IntegerType, z.int32()],
  [BooleanType, z.boolean()],
  [DateTimeType, timestamp],
]);

/** A column named like this is left out, or its table says how it is held: what is secret never gets into a backup by default. */
const secretName = /secret|credential|password|token|cipher|sealed|key/;

// biome-ignore lint/suspicious/noExplicitAny: any entity, as above
type Columns<E extends EntitySchema<any>> = { [C in Extract<keyof InferEntity<E>, string>]: InferEntity<E>[C] };

/**
 * A backed-up table: all columns of its entity, by their types, except those it leaves. A backup from before there was a column is read as if it
 * held the column's default, or null.
 * @param table `columns` for those a backup checks more closely than by their type, or holds otherwise
 * @throws Error for a column whose shape or whose secrecy is not known
 */
export function backedUp<
  // biome-ignore lint/suspicious/noExplicitAny: any entity, as above
  E extends EntitySchema<any>,
  Left extends Extract<keyof InferEntity<E>, string>,
>(
  table: Omit<BackedUpTable, 'name' | 'entity' | 'row' | 'left'> & {
    entity: E;
    columns?: { [C in Exclude<keyof Columns<E>, Left>]?: z.ZodType };
    left: Record<Left, string>;
  },
) {
  const { entity, columns = {}, left, ...rest } = table;
  const { properties, tableName } = entity.init().meta;
  const own: Partial<Record<string, z.ZodType>> = columns;
  const row = Object.values(properties).flatMap(({ name, type, nullable, default: initial }): [string, z.ZodType][] => {
    const shape = own[name];
    if (shape) return [[name, shape]];
    if (name in left) return [];
    const usual = shapes.get(typeof type === 'function' ? type : (type as object).constructor);
    if (!usual || secretName.test(name)) throw new Error(`${tableName}.${name}: say how backups hold it, or leave it`);
    const held = nullable ? usual.nullable() : usual;
    const absent = initial ?? (nullable ? null : undefined);
    return [[name, absent === undefined ? held : held.default(absent)]];
  });
  type Row = z.ZodObject<{ [C in Exclude<keyof Columns<E>, Left>]: z.ZodType<Columns<E>[C]> }>;
  return { ...rest, entity, left, name: tableName, row: z.object(Object.fromEntries(row)) as unknown as Row };
}

/** Whose rows are restored. */
export interface RowOwner {
  services: Services;
  project: { id: number; organization_id: number };
  /** What the ids of a backup have become, by table. */
  ids: Map<string, Map<unknown, unknown>>;
}

/** Those of a project that are not deleted. */
export const live = (project_id: number) => ({ project_id, deleted_at: null });

/** Where the rows of a table lie in a backup. */
export const rowsFile = ({ name }: Pick<BackedUpTable, 'name'>) => `rows/${name}.jsonl`;

/** One row as a line of JSON. */
export const rowLine = (table: Pick<BackedUpTable, 'row'>, row: object) =>
  JSON.stringify(z.encode(table.row, row as never));

/** Which rows come after one, in the order of the key. */
const after = (key: readonly string[], last: Record<string, unknown>) => ({
  $or: key.map((column, at) => ({
    ...Object.fromEntries(key.slice(0, at).map((before) => [before, last[before]])),
    [column]: { $gt: last[column] },
  })),
});

/** The rows of a project as lines of JSON, in the order of the key. */
export async function* rowLines(em: EntityManager, table: BackedUpTable, projectId: number): AsyncGenerator<string> {
  const { entity, key } = table;
  const ofProject = (await table.ofProject?.(em, projectId)) ?? { project_id: projectId };
  let last: Record<string, unknown> | undefined;
  for (;;) {
    const where = { ...ofProject, ...(key && last && after(key, last)) };
    const rows = (await em.find(entity, where as never, {
      ...(key && { orderBy: key.map((column) => ({ [column]: 'asc' })) as never }),
      limit: batch,
      disableIdentityMap: true,
    })) as Record<string, unknown>[];
    for (const row of rows) yield rowLine(table, row);
    if (!key || rows.length < batch) return;
    last = rows.at(-1);
  }
}
