import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from 'graphql';
import type { DomainError } from '../../kernel/errors.ts';
import { measureValues } from '../../kernel/json-input.ts';

/** Free values travel through recursive code (hashing, serialising): one nested without end must not reach it. */
function bounded(value: unknown): unknown {
  try {
    measureValues({ JSON: value }, () => true);
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
export const Json = new GraphQLScalarType({
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

/** An instant as operations give it: text, of git with the offset of its author, or Unix seconds. */
function instant(value: unknown): string {
  const date = new Date(typeof value === 'number' ? value * 1000 : text(value));
  if (Number.isNaN(date.getTime())) throw new GraphQLError('DateTime: is not a time');
  return date.toISOString();
}

/** Operations read times as text already, so inputs are not converted here. */
export const DateTime = new GraphQLScalarType({
  name: 'DateTime',
  description: 'A time as in RFC 3339, UTC with milliseconds: `2026-03-01T08:00:00.123Z`',
  serialize: instant,
  parseValue: text,
  parseLiteral: (node) => text(node.kind === Kind.STRING ? node.value : undefined),
});

function safe(value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new GraphQLError('Long: must be an integer below 2^53');
}

/** Sizes in bytes, positions and the ids of what there is very much of. */
export const Long = new GraphQLScalarType({
  name: 'Long',
  description: 'An integer of more than 32 bits: a JSON number of at most 2^53 - 1 on either side of 0',
  serialize: safe,
  parseValue: safe,
  parseLiteral: (node) => safe(node.kind === Kind.INT ? Number(node.value) : undefined),
});
