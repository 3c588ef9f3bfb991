import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
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

/** Items of the lists by which a schema is read, as `__Type.fields`: how many each has on average, those that are empty counted. */
interface ListSizes {
  usual: ReadonlyMap<string, number>;
  /** How much longer than usual the longest list of fields is. */
  longest: number;
}

const known = new WeakMap<GraphQLSchema, ListSizes>();

function sizesOf(schema: GraphQLSchema): ListSizes {
  const before = known.get(schema);
  if (before) return before;
  const types = Object.values(schema.getTypeMap());
  const directives = schema.getDirectives();
  const mean = <T>(items: readonly T[], countOf: (item: T) => number) =>
    items.reduce((sum, item) => sum + countOf(item), 0) / Math.max(1, items.length);
  const withFields = (type: GraphQLNamedType) => isObjectType(type) || isInterfaceType(type);
  const fieldsOf = (type: GraphQLNamedType) => (withFields(type) ? Object.values(type.getFields()) : []);
  const fields = types.flatMap(fieldsOf);
  const usual = new Map([
    ['__Schema.types', types.length],
    ['__Schema.directives', directives.length],
    ['__Type.fields', mean(types, (type) => fieldsOf(type).length)],
    ['__Type.interfaces', mean(types, (type) => (withFields(type) ? type.getInterfaces().length : 0))],
    ['__Type.possibleTypes', mean(types, (type) => (isAbstractType(type) ? schema.getPossibleTypes(type).length : 0))],
    ['__Type.enumValues', mean(types, (type) => (isEnumType(type) ? type.getValues().length : 0))],
    ['__Type.inputFields', mean(types, (type) => (isInputObjectType(type) ? Object.keys(type.getFields()).length : 0))],
    ['__Field.args', mean(fields, ({ args }) => args.length)],
    ['__Directive.args', mean(directives, ({ args }) => args.length)],
  ]);
  const sizes = {
    usual,
    longest: Math.max(...types.map((type) => fieldsOf(type).length)) / mean(types, (type) => fieldsOf(type).length),
  };
  known.set(schema, sizes);
  return sizes;
}

/**
 * How many values, about, an operation reads of the schema itself. Its lists have no page size, so what a document repeats of them, by aliases, by
 * fragments or by fields of fields, is a multiple of the whole schema. The document must have passed validation.
 */
export function schemaValues(
  schema: GraphQLSchema,
  document: DocumentNode,
  { selectionSet }: Pick<OperationDefinitionNode, 'selectionSet'>,
): number {
  const fragments = fragmentsOf(document);
  const ofSets = new Map<SelectionSetNode, number>();

  // A set is counted once however often its fragment is spread: what it reads depends on its type alone, and each has one.
  function ofSet(set: SelectionSetNode | undefined, parent: GraphQLNamedType | undefined): number {
    if (!set) return 0;
    const before = ofSets.get(set);
    if (before !== undefined) return before;
    const total = set.selections.reduce((sum, selection) => {
      if (selection.kind === Kind.FIELD) return sum + ofField(selection, parent);
      const spread = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      const condition = spread?.typeCondition?.name.value;
      return sum + ofSet(spread?.selectionSet, condition === undefined ? parent : schema.getType(condition));
    }, 0);
    ofSets.set(set, total);
    return total;
  }

  function ofField({ name: { value: name }, selectionSet: within }: FieldNode, parent: GraphQLNamedType | undefined) {
    if (name === SchemaMetaFieldDef.name) return 1 + ofSet(within, schema.getType('__Schema'));
    if (name === TypeMetaFieldDef.name) return 1 + sizesOf(schema).longest * ofSet(within, schema.getType('__Type'));
    const isOfSchema = parent !== undefined && isIntrospectionType(parent) && isObjectType(parent);
    const field = isOfSchema ? parent.getFields()[name] : undefined;
    if (!parent || !field) return 0;
    const type = isNonNullType(field.type) ? field.type.ofType : field.type;
    const items = isListType(type) ? (sizesOf(schema).usual.get(`${parent.name}.${name}`) ?? 1) : 1;
    return items * (1 + ofSet(within, getNamedType(field.type)));
  }

  return Math.ceil(ofSet(selectionSet, schema.getQueryType() ?? undefined));
}
