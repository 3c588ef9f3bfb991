import type { SchemaField } from '../schema.schema.ts';
import type { Evaluator } from '../static/evaluate.ts';
import { type Place, placeOf, plain, type RecordValue, type Value } from '../static/values.ts';
import { construct } from './constructors.ts';
import { anything, hasFields } from './field-algebra.ts';
import { applyMethod } from './methods.ts';

const MAX_FIELDS = 20_000;
const MAX_DEPTH = 100;

const zodModules = new Set([
  'zod',
  'zod/v3',
  'zod/v4',
  'zod/mini',
  'zod/v4-mini',
  'astro/zod',
  'astro:schema',
  '@nuxt/content',
]);
const zodNames = new Set(['z', '*', 'default']);

/** Functions of other packages that give a schema: `reference('authors')`, `docsSchema()` … null: not one of them. */
export type KnownCall = (callee: Value, args: readonly Value[], fold: Folder, place: Place) => SchemaField | null;

/** Converts symbolic Zod calls to fields. What it does not know becomes `any`, with a warning at its place. */
export class Folder {
  private left = MAX_FIELDS;
  private depth = 0;
  readonly evaluator: Evaluator;
  private readonly known: KnownCall;
  private readonly report: (message: string, place: Place) => void;

  constructor(evaluator: Evaluator, known: KnownCall, report: (message: string, place: Place) => void) {
    this.evaluator = evaluator;
    this.known = known;
    this.report = report;
  }

  /** `any`, and a warning that says why. */
  give(message: string, place: Place): SchemaField {
    this.report(`${message}; any value is accepted`, place);
    return anything();
  }

  note(message: string, place: Place): void {
    this.report(message, place);
  }

  /** The field a value describes, which must be a schema. */
  fold(value: Value | undefined, otherwise: Place): SchemaField {
    if (value === undefined) return this.give('A schema is missing', otherwise);
    const place = placeOf(value, otherwise);
    if (--this.left < 0 || this.depth >= MAX_DEPTH) return this.give('The schema is too large to follow', place);
    this.depth++;
    try {
      return (
        this.schema(value, place) ??
        this.give(value.kind === 'unknown' ? sentence(value.reason) : 'This is not a schema that is known', place)
      );
    } finally {
      this.depth--;
    }
  }

  private schema(value: Value, place: Place): SchemaField | null {
    if (value.kind === 'member') return this.part(value.object, value.property, place);
    if (value.kind !== 'call') return null;
    const { callee, args } = value;
    const known = this.known(callee, args, this, place);
    if (known) return known;
    if (callee.kind === 'external')
      return zodModules.has(callee.module) ? construct(callee.name, '', args, this, place) : null;
    if (callee.kind !== 'member') return null;
    const { object, property } = callee;
    if (isZod(object)) return construct(property, '', args, this, place);
    const family = familyOf(object);
    if (family !== null) return construct(property, family, args, this, place);
    if (object.kind !== 'call' && object.kind !== 'member') return null;
    return applyMethod(this.fold(object, place), property, args, this, place);
  }

  /** `schema.shape.title`, `schema.element`. */
  private part(object: Value, name: string, place: Place): SchemaField | null {
    if (object.kind === 'member' && object.property === 'shape') {
      const whole = this.fold(object.object, place);
      return (hasFields(whole) && whole.fields.find((one) => one.name === name)) || null;
    }
    if (name === 'element') {
      const list = this.fold(object, place);
      return list.list ? { ...list, list: false, required: true } : null;
    }
    return null;
  }

  /** The fields of an object literal of schemas; null when the value is none. */
  shape(value: Value | undefined, otherwise: Place): SchemaField[] | null {
    if (value?.kind === 'member' && value.property === 'shape') {
      const whole = this.fold(value.object, otherwise);
      return hasFields(whole) ? whole.fields : null;
    }
    return value?.kind === 'record' ? this.record(value) : null;
  }

  private record(record: RecordValue): SchemaField[] {
    const fields = new Map<string, SchemaField>();
    for (const [key, part] of record.parts) {
      if (key === null) {
        const spread = this.shape(part, record.place);
        if (spread) for (const one of spread) fields.set(one.name, one);
        else
          this.note(
            `Some keys of the object are not known: ${part.kind === 'unknown' ? part.reason : 'a spread'}`,
            placeOf(part, record.place),
          );
      } else fields.set(key, { ...this.fold(part, record.place), name: key });
    }
    return [...fields.values()];
  }

  /** Plain data of an argument; undefined when it is none. */
  data(value: Value | undefined, place: Place): unknown {
    if (value?.kind === 'closure') return plain(this.evaluator.apply(value, [], place));
    return value === undefined ? undefined : plain(value);
  }
}

const sentence = (reason: string) => reason.charAt(0).toUpperCase() + reason.slice(1);

/** Whether a value is the namespace `z`, under whatever name it was imported. */
export function isZod(value: Value): boolean {
  if (value.kind === 'member') return value.property === 'z' && isZod(value.object);
  if (value.kind !== 'external') return false;
  if (value.module === 'astro:content') return value.name === 'z';
  return zodModules.has(value.module) && zodNames.has(value.name);
}

/** `z.coerce` and `z.iso` hold constructors of their own. */
function familyOf(value: Value): 'coerce' | 'iso' | null {
  const [object, name] =
    value.kind === 'member'
      ? [value.object, value.property]
      : value.kind === 'external'
        ? [null, value.name]
        : [null, ''];
  if (name !== 'coerce' && name !== 'iso') return null;
  const belongs = object ? isZod(object) : value.kind === 'external' && zodModules.has(value.module);
  return belongs ? name : null;
}
