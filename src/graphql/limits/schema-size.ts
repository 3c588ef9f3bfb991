import {
  type DocumentNode,
  type FieldNode,
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
} from 'graphql';
import { fragmentsOf } from './document.ts';

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
