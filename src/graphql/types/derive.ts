import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from 'graphql';
import {
  type ClassType,
  createUnionType,
  Field,
  Float,
  InputType,
  Int,
  ObjectType,
  registerEnumType,
} from 'type-graphql';
import { z } from 'zod';
import type { DomainError } from '../../kernel/errors.ts';
import { checkValues } from '../../kernel/json-input.ts';
import { claimName, isLegalEnumValue, isLegalName, pascal } from './names.ts';
import { type AnySchema, definitionOf, idOf, originalOf, shapeOf, unwrap } from './zod-schema.ts';

const enums = new Map<AnySchema, object>();

/** The values of an enum or literal schema. */
function valuesOf(schema: AnySchema): readonly unknown[] {
  const { entries, values } = schema._zod.def as { entries?: Record<string, unknown>; values?: readonly unknown[] };
  return entries ? Object.values(entries) : (values ?? []);
}

/** Whether the values can be names in a document; `30d` or `true` cannot, and stay text. */
const isEnum = (values: readonly unknown[]): values is readonly string[] =>
  values.every((value) => typeof value === 'string' && isLegalEnumValue(value));

/**
 * The GraphQL enum of a schema, made on first use.
 * @param fallback its name when the schema has none by `.meta({id})`.
 */
function enumOf(schema: AnySchema, values: readonly string[], fallback: string): object {
  const original = originalOf(schema);
  const known = enums.get(original);
  if (known) return known;
  const made = Object.fromEntries(values.map((value) => [value, value]));
  const description = z.globalRegistry.get(original)?.description;
  const name = claimName(idOf(original) ?? fallback);
  registerEnumType(made, { name, ...(description !== undefined && { description }) });
  enums.set(original, made);
  return made;
}

/** Free values travel through recursive code (hashing, serialising): one nested without end must not reach it. */
function bounded(value: unknown): unknown {
  try {
    checkValues({ JSON: value }, () => true);
  } catch (error) {
    throw new GraphQLError((error as DomainError).message);
  }
  return value;
}

/** The value a literal in a document stands for; variables inside it are read from `variables`. */
function literal(node: ValueNode, variables: Record<string, unknown> | null | undefined): unknown {
  switch (node.kind) {
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.LIST:
      return node.values.map((item) => literal(item, variables));
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map((field) => [field.name.value, literal(field.value, variables)]));
    case Kind.VARIABLE:
      return variables?.[node.name.value];
    case Kind.NULL:
      return null;
  }
}

/** What has no fixed shape: validated by the operation that reads it. */
const Json = new GraphQLScalarType({
  name: 'JSON',
  description: 'Any JSON value',
  serialize: (value) => value,
  parseValue: bounded,
  parseLiteral: (node, variables) => bounded(literal(node, variables)),
});

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new GraphQLError('DateTime: must be a string');
}

/** Operations read and give times as text already, so nothing is converted here. */
const DateTime = new GraphQLScalarType({
  name: 'DateTime',
  description: 'A time as in RFC 3339, UTC with milliseconds: `2026-03-01T08:00:00.123Z`',
  serialize: text,
  parseValue: text,
  parseLiteral: (node) => text(node.kind === Kind.STRING ? node.value : undefined),
});

type TypeValue = object | TypeValue[];

/** How one schema shows as the type of a field. */
interface Derived {
  type: TypeValue;
  nullable: boolean;
  itemsNullable?: boolean;
  /** What the type itself cannot say, for the description. */
  note?: string;
}

/** Where a type is needed: in which direction, and the name of a nested type that has none of its own. */
interface Place {
  isInput: boolean;
  name: string;
}

const classes = { input: new Map<AnySchema, ClassType>(), output: new Map<AnySchema, ClassType>() };
const unions = new Map<AnySchema, object>();

const fits32Bits = ({ minValue, maxValue }: z.ZodNumber) =>
  (minValue ?? -Infinity) >= -(2 ** 31) && (maxValue ?? Infinity) <= 2 ** 31 - 1;

function numberType(schema: AnySchema): TypeValue {
  return schema instanceof z.ZodNumber && schema.isInt && fits32Bits(schema) ? Int : Float;
}

function choiceType(schema: AnySchema, place: Place): Pick<Derived, 'type' | 'note'> {
  const values = valuesOf(schema);
  if (values.every((value) => typeof value === 'boolean')) return { type: Boolean };
  if (values.every((value) => typeof value === 'number')) return { type: Float };
  if (!values.every((value) => typeof value === 'string')) return { type: Json };
  if (definitionOf(schema).type === 'enum' && isEnum(values)) return { type: enumOf(schema, values, place.name) };
  return { type: String, note: `One of: ${values.join(', ')}` };
}

function unionType(schema: AnySchema, place: Place): Derived {
  const { options = [], discriminator } = schema._zod.def as { options?: AnySchema[]; discriminator?: string };
  const members = options.filter((option) => definitionOf(option).type !== 'null');
  const nullable = members.length < options.length;
  const derived = () => members.map((member) => deriveType(member, place));
  if (members.length === 1) return { ...(derived()[0] ?? { type: Json }), nullable };
  if (discriminator !== undefined && !place.isInput) {
    return { type: outputUnion(schema, members, discriminator, place), nullable };
  }
  const plain = members.every((member) => ['string', 'number', 'boolean'].includes(definitionOf(member).type));
  const kinds = plain ? [...new Set(derived().map(({ type }) => type))] : [];
  return { type: kinds.length === 1 && kinds[0] ? kinds[0] : Json, nullable };
}

function outputUnion(schema: AnySchema, members: AnySchema[], discriminator: string, place: Place): object {
  const original = originalOf(schema);
  const known = unions.get(original);
  if (known) return known;
  const name = claimName(idOf(original) ?? place.name);
  const byValue = new Map<unknown, ClassType>();
  for (const member of members) {
    const values = [...(member._zod.propValues?.[discriminator] ?? [])];
    const fallback = `${name}${pascal(String(values[0] ?? ''))}`;
    const type = classOf(member, nestedName(member, { name: fallback, isInput: false }), false);
    for (const value of values) byValue.set(value, type);
  }
  const made: object = createUnionType({
    name,
    types: () => [...new Set(byValue.values())],
    resolveType: (value: object) => byValue.get((value as Record<string, unknown>)[discriminator])?.name,
  });
  unions.set(original, made);
  return made;
}

function deriveType(outer: AnySchema, place: Place): Derived {
  const { schema, nullable } = unwrap(outer, place.isInput);
  switch (definitionOf(schema).type) {
    case 'string':
    case 'template_literal':
      return { type: String, nullable };
    case 'number':
      return { type: numberType(schema), nullable };
    case 'boolean':
      return { type: Boolean, nullable };
    case 'date':
    case 'pipe':
      return { type: DateTime, nullable };
    case 'enum':
    case 'literal':
      return { ...choiceType(schema, place), nullable };
    case 'array': {
      const item = deriveType((schema as z.ZodArray<AnySchema>).element, place);
      return { ...item, type: [item.type], nullable, itemsNullable: item.nullable };
    }
    case 'object':
      return { type: shapeOf(schema) ? classOf(schema, nestedName(schema, place), place.isInput) : Json, nullable };
    case 'union': {
      const union = unionType(schema, place);
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
      throw new Error(`${place.name}: no GraphQL type for a zod ${definitionOf(schema).type}`);
  }
}

const nestedName = (schema: AnySchema, { name, isInput }: Place) => `${idOf(schema) ?? name}${isInput ? 'Input' : ''}`;

/**
 * Gives a class the field a schema describes.
 * @param owner name that nested types without one of their own begin with.
 */
export function addField(target: ClassType, name: string, schema: AnySchema, owner: string, isInput: boolean): void {
  if (!isLegalName(name)) throw new Error(`${owner}.${name}: not a name GraphQL takes`);
  const { type, nullable, itemsNullable, note } = deriveType(schema, { isInput, name: `${owner}${pascal(name)}` });
  const description = [unwrap(schema, isInput).description, note].filter(Boolean).join('. ');
  Field(() => type, {
    nullable: itemsNullable ? (nullable ? 'itemsAndList' : 'items') : nullable,
    ...(description && { description }),
  })(target.prototype, name);
}

/** An empty class of a name, to be decorated. */
export function namedClass(name: string): ClassType {
  const made = class {};
  Object.defineProperty(made, 'name', { value: name });
  return made;
}

/**
 * The class of an object schema, nested ones included, made on first use: type-graphql needs all before it builds.
 * @param without fields it leaves to resolvers.
 */
export function classOf(schema: AnySchema, name: string, isInput: boolean, without: readonly string[] = []): ClassType {
  const original = originalOf(schema);
  const siblings = classes[isInput ? 'input' : 'output'];
  const known = siblings.get(original);
  if (known) return known;
  const shape = shapeOf(schema);
  if (!shape) throw new Error(`${name}: has no fields to make a GraphQL type of`);
  const made = namedClass(claimName(name));
  siblings.set(original, made);
  const description = z.globalRegistry.get(original)?.description;
  const options = description === undefined ? {} : { description };
  if (isInput) InputType(name, options)(made);
  else ObjectType(name, { ...options, simpleResolvers: true })(made);
  const owner = isInput ? name.replace(/Input$/, '') : name;
  for (const [field, type] of Object.entries(shape)) {
    if (!without.includes(field)) addField(made, field, type, owner, isInput);
  }
  return made;
}
