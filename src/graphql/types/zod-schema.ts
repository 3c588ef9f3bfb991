import { z } from 'zod';

export type AnySchema = z.core.$ZodType;

/** What the definitions of the schemas we look into have in common; only some hold each. */
interface Definition {
  type: string;
  innerType?: AnySchema;
  in?: AnySchema;
  out?: AnySchema;
  getter?: () => AnySchema;
  element?: AnySchema;
}

export const definitionOf = (schema: AnySchema) => schema._zod.def as Definition;

/** A schema without the wrappers around it, and what they say. */
export interface Unwrapped {
  schema: AnySchema;
  /** It may be absent or null on the wire. */
  nullable: boolean;
  /** It takes null as a value of its own. */
  takesNull: boolean;
  description: string | undefined;
}

const describe = (schema: AnySchema) => z.globalRegistry.get(schema)?.description;

/**
 * Takes the wrappers off a schema, looking at its wire side: what a caller sends and what `run()` answers.
 * @param isInput a default makes an input optional; an answer always has the value.
 */
export function unwrap(schema: AnySchema, isInput: boolean): Unwrapped {
  const definition = definitionOf(schema);
  const inner = innerOf(definition);
  if (!inner) return { schema, nullable: false, takesNull: false, description: describe(schema) };
  const below = unwrap(inner, isInput);
  const takesNull = below.takesNull || definition.type === 'nullable';
  const mayBeAbsent =
    definition.type === 'optional' || (isInput && ['default', 'prefault', 'catch'].includes(definition.type));
  return {
    schema: below.schema,
    nullable: definition.type === 'nonoptional' ? takesNull : below.nullable || takesNull || mayBeAbsent,
    takesNull,
    description: describe(schema) ?? below.description,
  };
}

function innerOf({ type, innerType, in: wire, out, getter }: Definition): AnySchema | undefined {
  if (type === 'lazy') return getter?.();
  if (type !== 'pipe') return innerType;
  // A codec to a date is a type of its own; before a transform the wire side is what it reads.
  if (out && definitionOf(out).type === 'date') return undefined;
  return wire && definitionOf(wire).type === 'transform' ? out : wire;
}

/** The name a schema or the one it was derived from was given by `.meta({id})`; describing or refining makes a copy without it. */
export function idOf(schema: AnySchema): string | undefined {
  for (let at: AnySchema | undefined = schema; at; at = at._zod.parent) {
    const id = z.globalRegistry.get(at)?.id;
    if (id !== undefined) return id;
  }
  return undefined;
}

/** The schema that stands for all its described or refined copies: the one that was named, else the first. */
export function originalOf(schema: AnySchema): AnySchema {
  let original = schema;
  for (let at: AnySchema | undefined = schema; at; at = at._zod.parent) {
    original = at;
    if (z.globalRegistry.get(at)?.id !== undefined) break;
  }
  return original;
}

/** The fields of an object schema; null when it is open (any key) or empty, and so has no type of its own. */
export function shapeOf(schema: AnySchema): Record<string, AnySchema> | null {
  if (!(schema instanceof z.ZodObject)) return null;
  const { catchall } = schema._zod.def;
  if (catchall && definitionOf(catchall).type !== 'never') return null;
  return Object.keys(schema.shape).length > 0 ? schema.shape : null;
}
