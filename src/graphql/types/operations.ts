import { ArgsType, type ClassType, Field, InputType, Int, ObjectType } from 'type-graphql';
import { z } from 'zod';
import type { AnyOperation } from '../../kernel/operation.ts';
import { maxPerPage } from '../../kernel/paging.ts';
import { defaultFirst } from '../connection.ts';
import { addField, classOf, namedClass } from './derive.ts';
import { claimName, pascal, verbOf } from './names.ts';
import { type AnySchema, idOf, shapeOf, unwrap } from './zod-schema.ts';

/** Fields of inputs that say where to act or which page to show: arguments of their own in GraphQL. */
const placeFields = ['organization', 'project'];
const pagingFields = ['page', 'per_page', 'after'];

function recordName(schema: AnySchema, operation: AnyOperation): string {
  const id = idOf(schema);
  if (id === undefined) throw new Error(`${operation.name}: its output needs a name by .meta({id})`);
  return id;
}

/**
 * The type of an operation's answer, or of one item when the answer is a page.
 * @param options.name another name than the schema's own.
 * @param options.edges fields of the record that lead on to another object here, and get a resolver.
 */
export function outputOf(
  operation: AnyOperation,
  { name, edges = [] }: { name?: string; edges?: readonly string[] } = {},
): ClassType {
  const { schema } = unwrap(operation.output, false);
  const item = pageItem(schema) ?? schema;
  return classOf(item, name ?? recordName(item, operation), false, edges);
}

/** The schema of one item of a `pageOf` shape; null for anything else. */
function pageItem(schema: AnySchema): AnySchema | null {
  const shape = shapeOf(schema);
  return shape?.cursors && shape.items instanceof z.ZodArray ? (shape.items.element as AnySchema) : null;
}

const PageInfo = namedClass(claimName('PageInfo'));
ObjectType('PageInfo', { simpleResolvers: true })(PageInfo);
Field(() => Boolean)(PageInfo.prototype, 'has_next_page');
Field(() => Boolean)(PageInfo.prototype, 'has_previous_page');
Field(() => String, { nullable: true })(PageInfo.prototype, 'start_cursor');
Field(() => String, { nullable: true })(PageInfo.prototype, 'end_cursor');

const connections = new Map<string, ClassType>();

/**
 * The connection over the items of a list operation.
 * @param name what it is a connection of, when not the item's type.
 */
export function connectionOf(operation: AnyOperation, name?: string): ClassType {
  const item = outputOf(operation);
  const base = name ?? item.name;
  const known = connections.get(base);
  if (known) return known;
  const edge = namedClass(claimName(`${base}Edge`));
  ObjectType(edge.name, { simpleResolvers: true })(edge);
  Field(() => String)(edge.prototype, 'cursor');
  Field(() => item)(edge.prototype, 'node');
  const made = namedClass(claimName(`${base}Connection`));
  ObjectType(made.name, { simpleResolvers: true })(made);
  Field(() => [edge])(made.prototype, 'edges');
  Field(() => [item])(made.prototype, 'nodes');
  Field(() => PageInfo)(made.prototype, 'page_info');
  Field(() => Int)(made.prototype, 'total_count');
  connections.set(base, made);
  return made;
}

/** Whether a command can be repeated under a key: not one that answers with a secret, which must not be stored, nor a deletion. */
const isRepeatable = (operation: AnyOperation) => !operation.fresh && !operation.destructive;

/**
 * The input type of a command: the operation's own input without its place, and the conditions of the call.
 * @param options.verb the mutation's name, when it chooses between operations.
 * @param options.choice what it chooses by: fields beside those of the operations.
 */
export function inputOf(
  operation: AnyOperation,
  { verb: mutation = verbOf(operation), choice = {} }: { verb?: string; choice?: Record<string, AnySchema> } = {},
): ClassType {
  const verb = pascal(mutation);
  const made = namedClass(claimName(`${verb}Input`));
  InputType(made.name)(made);
  for (const [name, schema] of Object.entries<AnySchema>({ ...operation.input.shape, ...choice })) {
    if (!placeFields.includes(name)) addField(made, name, schema, verb, true);
  }
  const condition = (name: string, description: string) =>
    Field(() => String, { nullable: true, description })(made.prototype, name);
  if (operation.conditional) condition('if_match', 'Only when the stored version has this object id or ETag');
  if (isRepeatable(operation))
    condition('idempotency_key', 'A repeat with the same key gets the first answer, for 24 hours');
  return made;
}

/**
 * The arguments of a read beside its place; those of a list get `first` and `after`.
 * @param without fields that are taken from the field's parent.
 */
export function argsOf(operation: AnyOperation, without: readonly string[] = []): ClassType {
  const verb = pascal(verbOf(operation));
  const made = namedClass(`${verb}Args`);
  ArgsType()(made);
  const isList = pageItem(operation.output) !== null;
  const left = new Set([...placeFields, ...without, ...(isList ? pagingFields : [])]);
  for (const [name, schema] of Object.entries<AnySchema>(operation.input.shape)) {
    if (!left.has(name)) addField(made, name, schema, verb, true);
  }
  if (isList) {
    const description = `Items to give, at most ${maxPerPage}`;
    Field(() => Int, { nullable: true, defaultValue: defaultFirst, description })(made.prototype, 'first');
    Field(() => String, { nullable: true, description: 'Cursor of the item to begin behind' })(made.prototype, 'after');
  }
  return made;
}
