import type { SchemaField } from '../schema.schema.ts';
import { type Place, property, textOf, type Value } from '../static/values.ts';
import { field, hasFields, unionOf } from '../zod/field-algebra.ts';
import type { Folder } from '../zod/fold.ts';
import { starlightDocs } from './starlight.ts';

/** Stands for the `image` that Astro passes to a schema function. */
const imageFunction: Value = { kind: 'external', module: 'astro:content', name: '(image)' };

const isExternal = (value: Value, module: string, name: string) =>
  value.kind === 'external' && value.module === module && value.name === name;

/** A schema may be given as a function of `{image}`. */
export function resolveSchema(value: Value, fold: Folder, place: Place): Value {
  if (value.kind !== 'closure') return value;
  const context: Value = { kind: 'record', parts: [['image', imageFunction]], place };
  return fold.evaluator.apply(value, [context], place);
}

function extension(args: readonly Value[], fold: Folder, place: Place): SchemaField[] {
  const extend = args[0]?.kind === 'record' ? property(args[0], 'extend') : undefined;
  if (extend === undefined) return [];
  const folded = fold.fold(resolveSchema(extend, fold, place), place);
  return hasFields(folded) ? folded.fields : [];
}

/** Schemas of Astro and Starlight beside Zod's own. */
export function astroCall(callee: Value, args: readonly Value[], fold: Folder, place: Place): SchemaField | null {
  if (isExternal(callee, 'astro:content', '(image)')) return field('image');
  if (isExternal(callee, 'astro:content', 'reference')) {
    const collection = textOf(args[0]);
    if (collection === undefined) return fold.give('The collection of the reference is not known', place);
    return field('reference', { relation: { collection, multiple: false } });
  }
  // `docsSchema()(context)`: Starlight's schema is a function of the context too.
  if (callee.kind === 'call') return astroCall(callee.callee, callee.args, fold, place);
  if (isExternal(callee, '@astrojs/starlight/schema', 'docsSchema')) return starlightDocs(extension(args, fold, place));
  if (isExternal(callee, '@astrojs/starlight/schema', 'i18nSchema')) {
    return field('object', { fields: extension(args, fold, place) });
  }
  return null;
}

/**
 * The fields of an entry. Of a union of objects: every key of any alternative, required when all require it.
 * @returns null when the schema is no object whose keys are known
 */
export function topFields(schema: SchemaField): SchemaField[] | null {
  if (hasFields(schema)) return schema.fields;
  const alternatives = schema.variants?.filter(hasFields) ?? [];
  if (alternatives.length === 0 || alternatives.length !== schema.variants?.length) return null;
  const names = new Set(alternatives.flatMap((one) => one.fields.map((key) => key.name)));
  return [...names].map((name) => {
    const found = alternatives.flatMap((one) => one.fields.filter((key) => key.name === name));
    const everywhere = found.length === alternatives.length && found.every((one) => one.required);
    return { ...unionOf(found), name, required: everywhere };
  });
}
