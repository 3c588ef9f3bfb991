import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import { maxPerPage } from '../../kernel/paging.ts';
import { fragmentsOf } from './document.ts';

const commandCost = 50;

type Variables = Record<string, unknown>;
type AnyField = GraphQLField<unknown, unknown>;

const isList = ({ type }: AnyField) => isListType(isNonNullType(type) ? type.ofType : type);

/** The cost of a field by itself: its resolver's (`@Extensions({ cost })`), where it costs more than reading a record. */
const weightOf = ({ extensions }: AnyField) => (typeof extensions.cost === 'number' ? extensions.cost : 1);

/** The page size a field requests; null when it is no connection. An invalid size counts as the largest. */
function firstOf(node: FieldNode, field: AnyField, sizeIn: (variable: string) => unknown): number | null {
  const declared = field.args.find(({ name }) => name === 'first');
  if (!declared) return null;
  const given = node.arguments?.find(({ name }) => name.value === 'first')?.value;
  let value: unknown = declared.defaultValue;
  if (given?.kind === Kind.INT) value = Number(given.value);
  if (given?.kind === Kind.VARIABLE) value = sizeIn(given.name.value) ?? value;
  return typeof value === 'number' && value >= 1 ? Math.min(value, maxPerPage) : maxPerPage;
}

/** The variables of an operation: those given, else its defaults. */
export function withDefaults({ variableDefinitions }: OperationDefinitionNode, given: Variables): Variables {
  const defaults = (variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

/** The cost of an operation that was counted last, and the page sizes it was counted for, by the variables that give them. */
interface Counted {
  sizes: ReadonlyMap<string, unknown>;
  cost: number;
}
const counted = new WeakMap<OperationDefinitionNode, Counted>();

/**
 * What an operation would cost to answer, before it runs: one per field, the fields of a list once for each item of its page, 50 for a
 * command. The document must have passed validation.
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Variables,
): number {
  const last = counted.get(operation);
  if (last && [...last.sizes].every(([name, size]) => given[name] === size)) return last.cost;
  const sizes = new Map<string, unknown>();
  const fragments = fragmentsOf(document);
  const variables = withDefaults(operation, given);
  const mutation = schema.getMutationType();
  const ofFragments = new Map<string, number>();
  const sizeIn = (name: string): unknown => {
    sizes.set(name, given[name]);
    return variables[name];
  };

  // `page` is the page size of the connection whose fields these are: `edges` and `nodes` hold that many items.
  function ofSet(set: SelectionSetNode | undefined, parent: GraphQLNamedType | undefined, page: number): number {
    let total = 0;
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) total += ofField(selection, parent, page);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) total += ofFragment(selection.name.value, page);
      else total += ofSet(selection.selectionSet, narrowed(selection.typeCondition?.name.value, parent), page);
    }
    return total;
  }

  const narrowed = (name: string | undefined, parent: GraphQLNamedType | undefined) =>
    name === undefined ? parent : schema.getType(name);

  // Counted once for each page size: fragments of fragments may be spread more often than could be walked.
  function ofFragment(name: string, page: number): number {
    const key = `${name} ${page}`;
    const known = ofFragments.get(key);
    if (known !== undefined) return known;
    const fragment = fragments.get(name);
    const cost = ofSet(fragment?.selectionSet, narrowed(fragment?.typeCondition.name.value, undefined), page);
    ofFragments.set(key, cost);
    return cost;
  }

  function ofField(node: FieldNode, parent: GraphQLNamedType | undefined, page: number): number {
    const field = isObjectType(parent) ? parent.getFields()[node.name.value] : undefined;
    // `__typename`, and the schema's own fields, which validation bounds.
    if (!field) return 1;
    const own = parent === mutation ? commandCost : weightOf(field);
    const first = firstOf(node, field, sizeIn);
    const items = isList(field) ? (first ?? page) : 1;
    return own + items * ofSet(node.selectionSet, getNamedType(field.type), first ?? 1);
  }

  const cost = ofSet(operation.selectionSet, schema.getRootType(operation.operation) ?? undefined, 1);
  counted.set(operation, { sizes, cost });
  return cost;
}
