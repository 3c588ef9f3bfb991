/**
 * The schema: rows of `fields/`, each a type or a field, built into one graph. Types of records are derived from the operations' shapes; the
 * rows say which fields lead on from them, and what names a record to the operations below it.
 */
import {
  type GraphQLOutputType,
  GraphQLSchema,
  getNamedType,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import type { AnyOperation } from '../kernel/operation.ts';
import type { Connection } from './connection.ts';
import { crawlers } from './fields/crawlers.ts';
import { deployments } from './fields/deployments.ts';
import { entries } from './fields/entries.ts';
import { organizations } from './fields/organizations.ts';
import { repository } from './fields/repository.ts';
import { workflows } from './fields/workflows.ts';
import { Located, type Place, placed, placeOf } from './place.ts';
import type { Builder, FieldRow, ObjectRow, PlaceAll, Row } from './table.ts';
import { type Field, type Fields, Types } from './types/types.ts';

const roots = ['Query', 'Mutation', 'Subscription'] as const;

const rows: readonly Row[] = [...organizations, ...repository, ...entries, ...deployments, ...crawlers, ...workflows];

const isObject = (row: Row): row is ObjectRow => 'object' in row;

/** The place of a record below the input it was read by. */
function placeBelow({ keys }: ObjectRow): (record: object, above: Place) => Place {
  const named = Object.entries<string | ((record: never, above: Place) => unknown)>(keys);
  return (record, above) => {
    const place: Place = { organization: above.organization, project: above.project };
    for (const [input, key] of named)
      place[input] = typeof key === 'string' ? record[key as never] : key(record as never, above);
    return place;
  };
}

/** Builds a schema. @throws Error for rows of a type that no row makes, and for two of the same name */
export function schemaOf(table: readonly Row[]): GraphQLSchema {
  const objects = new Map(table.filter(isObject).map((row) => [row.object, row]));
  const fields = new Map<string, FieldRow[]>();
  for (const row of table) {
    if (isObject(row)) continue;
    for (const on of row.on) {
      if (!objects.has(on) && !roots.some((root) => root === on))
        throw new Error(`${on}.${row.name}: no row makes ${on}`);
      const siblings = fields.get(on) ?? [];
      if (siblings.some(({ name }) => name === row.name)) throw new Error(`${on}.${row.name}: has two rows`);
      fields.set(on, [...siblings, row]);
    }
  }
  const built = new Map<string, Fields>();
  const types = new Types({
    fieldsOf(type) {
      const known = built.get(type);
      if (known) return known;
      const made = Object.fromEntries((fields.get(type) ?? []).map((row) => [row.name, row.build(builder, type)]));
      built.set(type, made);
      return made;
    },
    resolverOf(type, field, answer) {
      const read = objects.get(type)?.read;
      if (read) return readField(read, field);
      if (!objects.has(getNamedType(answer).name)) return undefined;
      if (!objects.has(type)) throw new Error(`${type}.${field}: leads on, so ${type} needs a row`);
      const place = builder.placing(answer);
      return (record) => {
        place(record[field], placeOf(record));
        return record[field];
      };
    },
  });
  const builder: Builder = {
    types,
    keysOf: (type) => Object.keys(objects.get(type)?.keys ?? {}),
    placing: (answer) => placing(answer, objects),
  };
  for (const { object, schema, description } of objects.values())
    if (schema) types.record(schema, object);
    else types.object(object, description);
  const [query, mutation, subscription] = roots.map((root) => (fields.has(root) ? types.object(root) : null));
  return new GraphQLSchema({ query, mutation, subscription });
}

/** A field of a record that may be only located. */
const readField =
  (read: AnyOperation, field: string): Field['resolve'] =>
  async (record, _args, context) =>
    (record instanceof Located ? await context.run(read, placeOf(record)) : record)[field];

/** How the records of an answer get their places. */
function placing(answer: GraphQLOutputType, objects: ReadonlyMap<string, ObjectRow>): PlaceAll {
  const type = getNamedType(answer);
  const nodes = isObjectType(type) && type.name.endsWith('Connection') ? type.getFields().nodes : undefined;
  const row = objects.get(nodes ? getNamedType(nodes.type).name : type.name);
  if (!row) return () => {};
  const below = placeBelow(row);
  const place = (record: unknown, above: Place): void => {
    if (record === null || record === undefined) return;
    if (Array.isArray(record)) for (const each of record) place(each, above);
    else placed(record, below(record, above));
  };
  return nodes ? (page, above) => page !== null && place((page as Connection<object>).nodes, above) : place;
}

let built: GraphQLSchema | undefined;

/** The schema, built once in a process. Inputs are validated by the operations they are for. */
export function buildGraphqlSchema(): GraphQLSchema {
  built ??= schemaOf(rows);
  return built;
}

/** The schema as text, in an order that does not depend on that of our files: what `schema.graphql` holds. */
export function schemaText(): string {
  return `${printSchema(lexicographicSortSchema(buildGraphqlSchema()))}\n`;
}
