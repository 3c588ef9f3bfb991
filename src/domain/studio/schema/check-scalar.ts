import { dateKind } from './dates.ts';
import type { PatternTest } from './patterns.ts';
import type { SchemaField } from './schema.schema.ts';

/** Code and message of what is wrong with one value. */
export type Fault = readonly [code: string, message: string];

export interface Lookups {
  patterns: ReadonlyMap<string, PatternTest>;
  references: ((collection: string, slug: string) => boolean) | undefined;
  files: ((path: string) => boolean) | undefined;
}

const none: Fault[] = [];
const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Characters as JSON Schema counts them: code points. */
const lengthOf = (text: string) => [...text].length;

/** Faults of a size against limits; `unit` is what is counted, empty for a number itself. */
export function outside(
  size: number,
  min: number | undefined,
  max: number | undefined,
  suffix: string,
  unit: string,
): Fault[] {
  const faults: Fault[] = [];
  const verb = unit === '' ? 'be' : 'have';
  const say = (limit: number) => (unit === '' ? String(limit) : plural(limit, unit));
  if (min !== undefined && size < min) faults.push([`min${suffix}`, `must ${verb} at least ${say(min)}`]);
  if (max !== undefined && size > max) faults.push([`max${suffix}`, `must ${verb} at most ${say(max)}`]);
  return faults;
}

function checkNumber({ type, min, max, coerce }: SchemaField, value: unknown): Fault[] {
  const wanted: Fault = ['type', type === 'integer' ? 'must be a whole number' : 'must be a number'];
  if (typeof value !== 'number') {
    const converts = coerce === true && !(typeof value === 'string' && Number.isNaN(Number(value)));
    return converts ? none : [wanted];
  }
  return type === 'integer' && !Number.isInteger(value) ? [wanted] : outside(value, min, max, '', '');
}

function checkDate({ type, coerce }: SchemaField, value: unknown): Fault[] {
  const example = type === 'date' ? 'a date, such as 2024-05-31' : 'a date and time, such as 2024-05-31T12:00:00Z';
  if (typeof value !== 'string') return coerce ? none : [['type', `must be ${example}`]];
  const kind = dateKind(value);
  const strict = kind !== null && (type === 'date' || kind === type);
  const lenient = coerce === true && (kind !== null || !Number.isNaN(Date.parse(value)));
  return strict || lenient ? none : [['date', `must be ${example}`]];
}

function checkText(field: SchemaField, value: unknown, { patterns, files }: Lookups): Fault[] {
  if (typeof value !== 'string') return field.coerce ? none : [['type', 'must be text']];
  const bounded = field.min_length !== undefined || field.max_length !== undefined;
  const faults = bounded ? outside(lengthOf(value), field.min_length, field.max_length, '_length', 'character') : [];
  if (field.pattern !== undefined && patterns.get(field.pattern)?.(value) === false) {
    faults.push(['pattern', `must match the pattern ${field.pattern}`]);
  }
  const local = (field.type === 'image' || field.type === 'file') && !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(value);
  if (local && files && !files(value)) faults.push(['file', `"${value}" is no file of the site`]);
  return faults;
}

function checkReference({ relation, coerce }: SchemaField, value: unknown, { references }: Lookups): Fault[] {
  // A reference may also be written as `{collection, id}` or `{collection, slug}`.
  const written =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  if (typeof value !== 'string' && written === null) return coerce ? none : [['type', 'must name an entry']];
  const target = written === null ? value : (written.id ?? written.slug);
  if (relation === undefined || references === undefined || typeof target !== 'string') return none;
  if (references(relation.collection, target)) return none;
  return [['reference', `"${target}" is no entry of "${relation.collection}"`]];
}

/** `"a"`, or `one of "a", "b"`. */
export const choice = (options: readonly unknown[]) =>
  (options.length > 1 ? 'one of ' : '') + options.map((option) => JSON.stringify(option)).join(', ');

/** What is wrong with a value of any type but `object`. */
export function checkScalar(field: SchemaField, value: unknown, lookups: Lookups): Fault[] {
  switch (field.type) {
    case 'any':
    case 'json':
      return none;
    case 'number':
    case 'integer':
      return checkNumber(field, value);
    case 'boolean':
      return typeof value === 'boolean' || field.coerce ? none : [['type', 'must be true or false']];
    case 'date':
    case 'datetime':
      return checkDate(field, value);
    case 'enum': {
      const { options = [] } = field;
      if (field.coerce || options.some((option) => option === value)) return none;
      return [['enum', options.length === 0 ? 'must be empty' : `must be ${choice(options)}`]];
    }
    case 'reference':
      return checkReference(field, value, lookups);
    default:
      return checkText(field, value, lookups);
  }
}
