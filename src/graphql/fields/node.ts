/**
 * Records with an address of their own: one opaque id says which, whatever it is, so that a client's cache has a key for each and can read it
 * again. An id is base64url of JSON: type, UUID of the project (null for what is in none) and the keys by which the operation reads it; content
 * ends with the branch or commit it is of. So it changes when what it names is renamed.
 */
import { GraphQLID, GraphQLInterfaceType, GraphQLNonNull } from 'graphql';
import { findProject, locateProject } from '../../domain/projects/projects.operations.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { AnyOperation } from '../../kernel/operation.ts';
import type { GraphqlContext } from '../context.ts';
import { type Place, placed, placeOf } from '../place.ts';
import type { Field } from '../types/types.ts';

/** What reads a record of a type, and the names of the inputs that say which. */
export interface NodeType {
  read: AnyOperation;
  keys: readonly string[];
}

const types = new WeakMap<object, string>();

const description = 'Id among all records: opaque, and another one after a rename';

export const Node = new GraphQLInterfaceType({
  name: 'Node',
  description: 'A record with an address of its own',
  fields: { node_id: { type: new GraphQLNonNull(GraphQLID), description } },
  resolveType: (record: object) => types.get(record),
});

/** Inputs that say which state of the content a record is of. */
const states = ['branch', 'ref'];

function encode(type: string, { keys }: NodeType, uuid: string | null, place: Place): string {
  const own = keys.filter((key) => !states.includes(key)).map((key) => place[key]);
  const state = states.find((key) => typeof place[key] === 'string' && keys.includes(key));
  const parts = [type, uuid, ...own, ...(state === undefined ? [] : [{ [state]: place[state] }])];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

interface Decoded {
  type: string;
  uuid: string | null;
  keys: Place;
}

/** The parts of an id; null for what is none. */
function decode(id: string, nodes: ReadonlyMap<string, NodeType>): Decoded | null {
  try {
    const [type, uuid, ...values] = JSON.parse(Buffer.from(id, 'base64url').toString('utf8'));
    const node = nodes.get(type);
    if (!node || (uuid !== null && typeof uuid !== 'string')) return null;
    const own = node.keys.filter((key) => !states.includes(key));
    const [state = {}, ...more] = values.slice(own.length);
    if (values.length < own.length || more.length > 0) return null;
    const named = Object.entries(state).filter(([key]) => states.includes(key) && node.keys.includes(key));
    const keys = Object.fromEntries([...own.map((key, at) => [key, values[at]] as const), ...named]);
    return { type, uuid, keys };
  } catch {
    return null;
  }
}

/** The field that every Node has. */
export const nodeId = (type: string, node: NodeType): Field => ({
  type: new GraphQLNonNull(GraphQLID),
  description,
  async resolve(record, _args, context) {
    const place = placeOf(record);
    if (place.project === undefined) return encode(type, node, null, place);
    const { organization, project } = place;
    // The record of a project says it even when the project was just deleted.
    const isProject = type === 'Project' && typeof record.uuid === 'string';
    const { uuid } = isProject ? record : await context.run(locateProject, { organization, project });
    return encode(type, node, uuid, place);
  },
});

const notFound = () => new DomainError('not_found', 'Node not found');

/** Refusals that would say whether there is something the caller may not know of, or what an id is made of. */
const hidden = ['not_found', 'invalid_request'];

async function read(id: string, nodes: ReadonlyMap<string, NodeType>, context: GraphqlContext): Promise<object> {
  context.requireActor();
  const found = decode(id, nodes);
  const node = found && nodes.get(found.type);
  if (!node) throw notFound();
  const { type, uuid, keys } = found;
  try {
    const at = uuid === null ? {} : await context.run(findProject, { uuid });
    const place = { ...at, ...keys };
    const record = placed((await context.run(node.read, place)) as object, place);
    types.set(record, type);
    return record;
  } catch (error) {
    const isForeign = error instanceof DomainError && error.message.startsWith('This credential has no access');
    if (isForeign || (error instanceof DomainError && hidden.includes(error.code))) throw notFound();
    throw error;
  }
}

/** The field that reads a record by its id, with the operation of its type and the rights it needs. */
export const nodeField = (nodes: ReadonlyMap<string, NodeType>): Field => ({
  type: Node,
  description: 'Any record by its id; null, with NOT_FOUND, for what is not there or not for the caller',
  args: { id: { type: new GraphQLNonNull(GraphQLID), description: '`node_id` of the record' } },
  resolve: (_root, { id }: { id: string }, context) => read(id, nodes, context),
});
