/**
 * The schema: rows of `fields/`, each a type or a field, built into one graph. Types of records are derived from the operations' shapes; the
 * rows say which fields lead on from them, and what names a record to the operations below it.
 */
import {
  type GraphQLOutputType,
  GraphQLSchema,
  getNamedType,
  getNullableType,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import type { Connection } from './connection.ts';
import { assistant } from './fields/assistant.ts';
import { crawlers } from './fields/crawlers.ts';
import { deployments } from './fields/deployments.ts';
import { entries } from './fields/entries.ts';
import { Node, type NodeType, nodeField, nodeId } from './fields/node.ts';
import { organizations } from './fields/organizations.ts';
import { repository } from './fields/repository.ts';
import { workflows } from './fields/workflows.ts';
import { Located, type Place, placed, placeOf } from './place.ts';
import type { Builder, FieldRow, ObjectRow, PlaceAll, Row } from './table.ts';
import { type Field, type Fields, Types } from './types/types.ts';

const roots = ['Query', 'Mutation', 'Subscription'] as const;

const rows: readonly Row[] = [
  ...organizations,
  ...repository,
  ...entries,
  ...deployments,
  ...crawlers,
  ...workflows,
  ...assistant,
];

const isObject = (row: Row): row is ObjectRow => 'object' in row;

/** The place of a record below the input it was read by. */
function placeBelow({ keys }: ObjectRow): (record: object, above: Place) => Place {
  const named = Object.entries<string | ((record: never, above: Place) => unknown)>(keys);
  return (record, above) => {
    const { organization, project } = above;
    const place: Place = { organization, project };
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
  const nodes = new Map<string, NodeType>();
  // The UUID of the project stands for its name.
  for (const { object, read, keys } of objects.values())
    if (read) nodes.set(object, { read, keys: Object.keys(keys).filter((key) => key !== 'project') });
  const built = new Map<string, Fields>();
  const types = new Types({
    fieldsOf(type) {
      const known = built.get(type);
      if (known) return known;
      const made = Object.fromEntries((fields.get(type) ?? []).map((row) => [row.name, row.build(builder, type)]));
      const own = nodes.get(type);
      if (own) made.node_id = nodeId(type, own);
      if (type === 'Query' && nodes.size > 0) made.node = nodeField(nodes);
      built.set(type, made);
      return made;
    },
    interfacesOf: (type) => (nodes.has(type) ? [Node] : []),
    recordField(type, name, made) {
      const row = objects.get(type);
      if (row?.isLocated) return readField(row, name, made);
      if (!objects.has(getNamedType(made.type).name)) return made;
      if (!row) throw new Error(`${type}.${name}: leads on, so ${type} needs a row`);
      const place = builder.placing(made.type);
      return {
        ...made,
        resolve(record) {
          place(record[name], placeOf(record));
          return record[name];
        },
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
const readField = ({ read }: ObjectRow, name: string, made: Field): Field => ({
  ...made,
  type: getNullableType(made.type),
  resolve(record, _args, context) {
    if (!(record instanceof Located && read)) return record[name];
    return context.run(read, placeOf(record)).then((found) => (found as Record<string, unknown>)[name]);
  },
});

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
