/**
 * GraphQL types derived from zod schemas: the one declaration of a shape is the operation's. A schema becomes one type for answers and one for
 * inputs, however often it occurs; its name is its own (`.meta({id})`), or that of the field it was met in. Fields are derived when the schema
 * is built, so types may name each other in any order.
 */
import {
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  GraphQLFloat,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  type GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  type GraphQLNullableType,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  GraphQLString,
  GraphQLUnionType,
} from 'graphql';
import { z } from 'zod';
import { maxPerPage } from '../../kernel/paging.ts';
import { defaultFirst } from '../connection.ts';
import type { GraphqlContext } from '../context.ts';
import { isLegalEnumValue, isLegalName, pascal } from './names.ts';
import { DateTime, Json, Long } from './scalars.ts';
import { type AnySchema, definitionOf, idOf, originalOf, shapeOf, unwrap } from './zod-schema.ts';

// biome-ignore lint/suspicious/noExplicitAny: fields of all parents and arguments are kept in one map; each row types its own
export type Field = GraphQLFieldConfig<any, GraphqlContext, any>;
export type Fields = Record<string, Field>;

/** What a schema adds to the types derived for it. */
export interface Additions {
  /** Fields of a type beside those of its record, or in their place. */
  fieldsOf(type: string): Fields;
  /** A field of a record, changed where it is more than the record's value. */
  recordField(type: string, name: string, field: Field): Field;
  interfacesOf(type: string): GraphQLInterfaceType[];
}

const nothing: Additions = {
  fieldsOf: () => ({}),
  recordField: (_type, _name, field) => field,
  interfacesOf: () => [],
};

/** How one schema shows as the type of a field. */
interface Derived {
  type: GraphQLNullableType;
  nullable: boolean;
  /** What the type itself cannot say, for the description. */
  note?: string;
}

/** Where a type is needed: in which direction, and the name of a nested type that has none of its own. */
interface Position {
  isInput: boolean;
  name: string;
}

/** The values of an enum or literal schema. */
function valuesOf(schema: AnySchema): readonly unknown[] {
  const { entries, values } = schema._zod.def as { entries?: Record<string, unknown>; values?: readonly unknown[] };
  return entries ? Object.values(entries) : (values ?? []);
}

/** Whether the values can be names in a document; `30d` or `true` cannot, and stay text. */
const isEnum = (values: readonly unknown[]): values is readonly string[] =>
  values.every((value) => typeof value === 'string' && isLegalEnumValue(value));

const fits32Bits = ({ minValue, maxValue }: z.ZodNumber) =>
  (minValue ?? -Infinity) >= -(2 ** 31) && (maxValue ?? Infinity) <= 2 ** 31 - 1;

/** What the metadata of a schema says its text or number is: `date-time` and `unix-time` are instants, `int32` fits 32 bits in all that has a sense. */
const formatOf = (schema: AnySchema) => z.globalRegistry.get(schema)?.format;

function numberType(schema: AnySchema): GraphQLScalarType {
  if (formatOf(schema) === 'unix-time') return DateTime;
  if (!(schema instanceof z.ZodNumber && schema.isInt)) return GraphQLFloat;
  return formatOf(schema) === 'int32' || fits32Bits(schema) ? GraphQLInt : Long;
}

const descriptionOf = (schema: AnySchema) => {
  const description = z.globalRegistry.get(originalOf(schema))?.description;
  return description === undefined ? {} : { description };
};

const nestedName = (schema: AnySchema, { name, isInput }: Position) =>
  `${idOf(schema) ?? name}${isInput ? 'Input' : ''}`;

const wrap = <T extends GraphQLNullableType>(type: T, nullable: boolean) =>
  nullable ? type : new GraphQLNonNull(type);

const required = (type: GraphQLOutputType): Field => ({
  type: new GraphQLNonNull(type as GraphQLNullableType & GraphQLOutputType),
});

/** The schema of one item of a `pageOf` shape; null for anything else. */
export function pageItem(outer: AnySchema): AnySchema | null {
  const shape = shapeOf(unwrap(outer, false).schema);
  return shape?.cursors && shape.items instanceof z.ZodArray ? (shape.items.element as AnySchema) : null;
}

/** The arguments of a list. */
export const listArguments: Record<string, GraphQLArgumentConfig> = {
  first: { type: GraphQLInt, defaultValue: defaultFirst, description: `Items to give, at most ${maxPerPage}` },
  after: { type: GraphQLString, description: 'Cursor of the item to begin behind' },
};

export class Types {
  readonly #additions: Additions;
  readonly #named = new Map<string, GraphQLNamedType>();
  readonly #inputs = new Map<AnySchema, GraphQLInputObjectType>();
  readonly #outputs = new Map<AnySchema, GraphQLObjectType | GraphQLUnionType>();
  readonly #enums = new Map<AnySchema, GraphQLEnumType>();
  readonly #connections = new Map<string, GraphQLObjectType>();
  readonly #pageInfo: GraphQLObjectType;

  constructor(additions: Additions = nothing) {
    this.#additions = additions;
    this.#pageInfo = this.#add(
      new GraphQLObjectType({
        name: 'PageInfo',
        fields: {
          has_next_page: required(GraphQLBoolean),
          has_previous_page: required(GraphQLBoolean),
          start_cursor: { type: GraphQLString },
          end_cursor: { type: GraphQLString },
        },
      }),
    );
  }

  /** A type made before, by its name. @throws Error without one */
  get(name: string): GraphQLNamedType {
    const type = this.#named.get(name);
    if (!type) throw new Error(`No GraphQL type is called ${name}`);
    return type;
  }

  /** An object of rows alone, without a record. */
  object(name: string, description?: string): GraphQLObjectType {
    const fields = () => this.#additions.fieldsOf(name);
    return this.#add(new GraphQLObjectType({ name, fields, ...(description !== undefined && { description }) }));
  }

  /** The type of an answer: nullable, a list or an object. @param name of a type whose schema has none */
  answer(schema: AnySchema, name?: string): GraphQLOutputType {
    const position = { isInput: false, name: name ?? idOf(unwrap(schema, false).schema) ?? '' };
    return this.#derive(schema, position).type as GraphQLOutputType;
  }

  /** The object type of a record. @param name another name than the schema's own */
  record(outer: AnySchema, name?: string): GraphQLObjectType {
    const { schema } = unwrap(outer, false);
    const own = name ?? idOf(schema);
    if (own === undefined) throw new Error('An answer needs a name by .meta({id})');
    return this.#object(schema, own);
  }

  /** The connection over items of a type; records of a list may be summaries of what they are called. */
  connection(item: GraphQLObjectType): GraphQLObjectType {
    const base = item.name.replace(/Summary$/, '');
    const known = this.#connections.get(base);
    if (known) return known;
    const edge = this.#add(
      new GraphQLObjectType({ name: `${base}Edge`, fields: { cursor: required(GraphQLString), node: required(item) } }),
    );
    const made = this.#add(
      new GraphQLObjectType({
        name: `${base}Connection`,
        fields: {
          edges: required(new GraphQLList(new GraphQLNonNull(edge))),
          nodes: required(new GraphQLList(new GraphQLNonNull(item))),
          page_info: required(this.#pageInfo),
          total_count: required(GraphQLInt),
        },
      }),
    );
    this.#connections.set(base, made);
    return made;
  }

  /** The answer of a command that holds the record it changed. */
  payload(name: string, field: string, record: GraphQLOutputType): GraphQLObjectType {
    return this.#add(new GraphQLObjectType({ name, fields: { [field]: required(record) } }));
  }

  /** Arguments or fields of an input by their schemas. @param owner name that nested types without one of their own begin with */
  inputs(shape: Record<string, AnySchema>, owner: string): Record<string, GraphQLInputFieldConfig> {
    const fields = Object.entries(shape).map(([name, schema]) => {
      const { type, ...rest } = this.#fieldOf(name, schema, owner, true);
      return [name, { type: type as GraphQLInputType, ...rest }] as const;
    });
    return Object.fromEntries(fields);
  }

  /** A named input type of fields that are known. */
  input(name: string, fields: Record<string, GraphQLInputFieldConfig>): GraphQLInputObjectType {
    return this.#add(new GraphQLInputObjectType({ name, fields }));
  }

  /** GraphQL has one space of names for all types. */
  #add<T extends GraphQLNamedType>(type: T): T {
    if (this.#named.has(type.name))
      throw new Error(`Two schemas give the GraphQL type ${type.name}; name one by .meta({id})`);
    this.#named.set(type.name, type);
    return type;
  }

  #object(schema: AnySchema, name: string): GraphQLObjectType {
    const original = originalOf(schema);
    const known = this.#outputs.get(original);
    if (known) return known as GraphQLObjectType;
    const shape = this.#shapeOf(schema, name);
    const fields = (): Fields => {
      const added = this.#additions.fieldsOf(name);
      const own = Object.entries(shape).filter(([field]) => !Object.hasOwn(added, field));
      const derived = own.map(([field, type]) => {
        const made = this.#fieldOf(field, type, name, false) as Field;
        return [field, this.#additions.recordField(name, field, made)] as const;
      });
      return { ...Object.fromEntries(derived), ...added };
    };
    const interfaces = this.#additions.interfacesOf(name);
    const made = this.#add(new GraphQLObjectType({ name, fields, interfaces, ...descriptionOf(schema) }));
    this.#outputs.set(original, made);
    return made;
  }

  #inputObject(schema: AnySchema, name: string): GraphQLInputObjectType {
    const original = originalOf(schema);
    const known = this.#inputs.get(original);
    if (known) return known;
    const shape = this.#shapeOf(schema, name);
    const fields = () => this.inputs(shape, name.replace(/Input$/, ''));
    const made = this.#add(new GraphQLInputObjectType({ name, fields, ...descriptionOf(schema) }));
    this.#inputs.set(original, made);
    return made;
  }

  #shapeOf(schema: AnySchema, name: string): Record<string, AnySchema> {
    const shape = shapeOf(schema);
    if (!shape) throw new Error(`${name}: has no fields to make a GraphQL type of`);
    return shape;
  }

  #fieldOf(name: string, schema: AnySchema, owner: string, isInput: boolean) {
    if (!isLegalName(name)) throw new Error(`${owner}.${name}: not a name GraphQL takes`);
    const { type, nullable, note } = this.#derive(schema, { isInput, name: `${owner}${pascal(name)}` });
    const description = [unwrap(schema, isInput).description, note].filter(Boolean).join('. ');
    return { type: wrap(type, nullable), ...(description && { description }) };
  }

  #derive(outer: AnySchema, position: Position): Derived {
    const { schema, nullable } = unwrap(outer, position.isInput);
    switch (definitionOf(schema).type) {
      case 'string':
        return { type: formatOf(schema) === 'date-time' ? DateTime : GraphQLString, nullable };
      case 'template_literal':
        return { type: GraphQLString, nullable };
      case 'number':
        return { type: numberType(schema), nullable };
      case 'boolean':
        return { type: GraphQLBoolean, nullable };
      case 'date':
      case 'pipe':
        return { type: DateTime, nullable };
      case 'enum':
      case 'literal':
        return { ...this.#choice(schema, position), nullable };
      case 'array': {
        const item = this.#derive((schema as z.ZodArray<AnySchema>).element, position);
        return { ...item, type: new GraphQLList(wrap(item.type, item.nullable)), nullable };
      }
      case 'object':
        return { type: shapeOf(schema) ? this.#structure(schema, position) : Json, nullable };
      case 'union': {
        const union = this.#union(schema, position);
        return { ...union, nullable: nullable || union.nullable };
      }
      case 'unknown':
      case 'any':
        return { type: Json, nullable: nullable || z.globalRegistry.get(schema)?.type !== 'object' };
      case 'record':
      case 'tuple':
      case 'intersection':
        return { type: Json, nullable };
      default:
        throw new Error(`${position.name}: no GraphQL type for a zod ${definitionOf(schema).type}`);
    }
  }

  #structure(schema: AnySchema, position: Position) {
    const name = nestedName(schema, position);
    return position.isInput ? this.#inputObject(schema, name) : this.#object(schema, name);
  }

  #choice(schema: AnySchema, position: Position): Pick<Derived, 'type' | 'note'> {
    const values = valuesOf(schema);
    if (values.every((value) => typeof value === 'boolean')) return { type: GraphQLBoolean };
    if (values.every((value) => typeof value === 'number')) return { type: GraphQLFloat };
    if (!values.every((value) => typeof value === 'string')) return { type: Json };
    if (definitionOf(schema).type === 'enum' && isEnum(values))
      return { type: this.#enum(schema, values, position.name) };
    return { type: GraphQLString, note: `One of: ${values.join(', ')}` };
  }

  #enum(schema: AnySchema, values: readonly string[], fallback: string): GraphQLEnumType {
    const original = originalOf(schema);
    const known = this.#enums.get(original);
    if (known) return known;
    const named = Object.fromEntries(values.map((value) => [value, { value }]));
    const name = idOf(original) ?? fallback;
    const made = this.#add(new GraphQLEnumType({ name, values: named, ...descriptionOf(schema) }));
    this.#enums.set(original, made);
    return made;
  }

  #union(schema: AnySchema, position: Position): Derived {
    const { options = [], discriminator } = schema._zod.def as { options?: AnySchema[]; discriminator?: string };
    const members = options.filter((option) => definitionOf(option).type !== 'null');
    const nullable = members.length < options.length;
    const derived = () => members.map((member) => this.#derive(member, position));
    if (members.length === 1) return { ...(derived()[0] ?? { type: Json }), nullable };
    if (discriminator !== undefined && !position.isInput)
      return { type: this.#outputUnion(schema, members, discriminator, position), nullable };
    const plain = members.every((member) => ['string', 'number', 'boolean'].includes(definitionOf(member).type));
    const kinds = plain ? [...new Set(derived().map(({ type }) => type))] : [];
    return { type: kinds.length === 1 && kinds[0] ? kinds[0] : Json, nullable };
  }

  #outputUnion(schema: AnySchema, members: AnySchema[], discriminator: string, position: Position): GraphQLUnionType {
    const original = originalOf(schema);
    const known = this.#outputs.get(original);
    if (known) return known as GraphQLUnionType;
    const name = idOf(original) ?? position.name;
    const byValue = new Map<unknown, GraphQLObjectType>();
    for (const member of members) {
      const values = [...(member._zod.propValues?.[discriminator] ?? [])];
      const fallback = `${name}${pascal(String(values[0] ?? ''))}`;
      const type = this.#object(member, nestedName(member, { name: fallback, isInput: false }));
      for (const value of values) byValue.set(value, type);
    }
    const made = this.#add(
      new GraphQLUnionType({
        name,
        types: [...new Set(byValue.values())],
        resolveType: (value: Record<string, unknown>) => byValue.get(value[discriminator])?.name,
      }),
    );
    this.#outputs.set(original, made);
    return made;
  }
}
