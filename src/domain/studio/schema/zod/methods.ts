import { literally } from '../../../../lib/text.ts';
import type { SchemaField } from '../schema.schema.ts';
import { type Place, plain, property, textOf, type Value } from '../static/values.ts';
import { both, formatPatterns } from './constructors.ts';
import { anything, field, hasFields, listOf, mergeFields, unionOf } from './field-algebra.ts';
import type { Folder } from './fold.ts';

interface Call {
  args: readonly Value[];
  fold: Folder;
  place: Place;
}
type Method = (on: SchemaField, call: Call) => SchemaField;

/** Methods that leave what may be stored as it is. */
const same: Method = (on) => on;
const sameNames = [
  'transform refine superRefine check overwrite pipe readonly brand register',
  'strip passthrough loose nonstrict catchall safe finite step multipleOf',
  'trim toLowerCase toUpperCase normalize slugify includes lowercase uppercase',
  'cidr cuid cuid2 ulid nanoid emoji ip ipv4 ipv6 base64 base64url jwt time duration',
].join(' ');

const change =
  (more: Partial<SchemaField>): Method =>
  (on) => ({ ...on, ...more });

const numberOf = (value: Value | undefined) =>
  value?.kind === 'scalar' && typeof value.value === 'number' && Number.isFinite(value.value) ? value.value : undefined;

type Bound = 'min' | 'max';
/** A bound counts items, characters or the number itself. An argument that is no number (a date, something unknown) bounds nothing. */
function bound(on: SchemaField, side: Bound, value: number | undefined): SchemaField {
  if (value === undefined) return on;
  if (on.list) return { ...on, [`${side}_items`]: value };
  if (on.type === 'number' || on.type === 'integer') return { ...on, [side]: value };
  return on.type === 'string' || on.type === 'link' ? { ...on, [`${side}_length`]: value } : on;
}

const limit =
  (...sides: Bound[]): Method =>
  (on, { args, fold, place }) => {
    const value = numberOf(args[0]);
    if (value === undefined && on.type !== 'date') fold.note('A limit is not known', place);
    return sides.reduce((one, side) => bound(one, side, value), on);
  };

/** Beyond a whole number the next one is the limit; among all numbers the limit itself must do, since fields have closed ranges. */
const beyond =
  (side: Bound): Method =>
  (on, call) => {
    const value = numberOf(call.args[0]);
    if (value === undefined || on.type !== 'integer' || !Number.isInteger(value)) return limit(side)(on, call);
    return bound(on, side, side === 'min' ? value + 1 : value - 1);
  };

const withDefault: Method = (on, { args, fold, place }) => {
  const value = fold.data(args[0], place);
  return { ...on, required: false, ...(value === undefined ? {} : { default: value }) };
};

const regex: Method = (on, { args, fold, place }) => {
  const [pattern] = args;
  if (pattern?.kind !== 'pattern') {
    fold.note('A pattern is not known', place);
    return on;
  }
  const flags = [...pattern.flags].filter((flag) => 'ims'.includes(flag)).join('');
  // A field has one pattern only.
  return on.pattern === undefined ? { ...on, pattern: (flags ? `(?${flags})` : '') + pattern.source } : on;
};

const affix =
  (before: string, after: string): Method =>
  (on, { args }) => {
    const text = textOf(args[0]);
    return text === undefined || on.pattern !== undefined ? on : { ...on, pattern: before + literally(text) + after };
  };

const meta: Method = (on, { args }) => {
  const data = args[0]?.kind === 'record' ? args[0] : null;
  const label = data && textOf(property(data, 'title'));
  const description = data && textOf(property(data, 'description'));
  return { ...on, ...(label ? { label } : {}), ...(description ? { description } : {}) };
};

/** Inputs that Nuxt's editor offers for texts, where they say what the text is. */
const inputs = new Map<string, Partial<SchemaField>>([
  ['media', { type: 'image' }],
  ['file', { type: 'file' }],
  ['textarea', { type: 'text' }],
]);

/** Nuxt Content's `.editor({ input, hidden })`, of which only a text takes the input. */
const editor: Method = (on, { args }) => {
  const data = args[0]?.kind === 'record' ? args[0] : null;
  const input = data && textOf(property(data, 'input'));
  const hidden = data && property(data, 'hidden');
  const isHidden = hidden?.kind === 'scalar' && hidden.value === true;
  return {
    ...on,
    ...(input && on.type === 'string' ? inputs.get(input) : {}),
    ...(isHidden && { editor: { ...on.editor, widget: 'hidden' as const } }),
  };
};

const describe: Method = (on, { args }) => {
  const description = textOf(args[0]);
  return description === undefined ? on : { ...on, description };
};

const onFields =
  (work: (fields: SchemaField[], call: Call) => SchemaField[] | null): Method =>
  (on, call) => {
    const fields = hasFields(on) ? work(on.fields, call) : null;
    return fields ? { ...on, fields } : call.fold.give('The keys of the object are not known', call.place);
  };

/** Names marked in `{title: true}`; null when the argument is not known. */
function marked(value: Value | undefined): Set<string> | null {
  const data = value && plain(value);
  return typeof data === 'object' && data !== null ? new Set(Object.keys(data)) : null;
}

const presence = (required: boolean): Method =>
  onFields((fields, { args }) => {
    const names = args[0] === undefined ? new Set(fields.map((one) => one.name)) : marked(args[0]);
    return names && fields.map((one) => (names.has(one.name) ? { ...one, required } : one));
  });

const listItself: Method = (on, { fold, place }) => {
  const list = listOf(on);
  if (list) return list;
  fold.note('The items of a list of lists, or of items that may be null, are not checked', place);
  return field('any', { list: true });
};

const mergeWith: Method = (on, { args, fold, place }) => {
  const other = fold.fold(args[0], place);
  return hasFields(on) && hasFields(other)
    ? { ...on, fields: mergeFields(on.fields, other.fields), ...(other.strict ? { strict: true } : {}) }
    : fold.give('The keys of the object are not known', place);
};

const methods = new Map<string, Method>([
  ...sameNames.split(' ').map((name): [string, Method] => [name, same]),
  ['nonoptional', change({ required: true })],
  ['optional', change({ required: false })],
  ['exactOptional', change({ required: false })],
  ['nullable', change({ nullable: true })],
  ['nullish', change({ required: false, nullable: true })],
  ['default', withDefault],
  ['prefault', withDefault],
  // Whatever is stored is accepted, the fallback replaces what does not fit.
  ['catch', (on) => ({ ...anything(), name: on.name, required: false })],
  ['min', limit('min')],
  ['max', limit('max')],
  ['gte', limit('min')],
  ['lte', limit('max')],
  ['length', limit('min', 'max')],
  ['gt', beyond('min')],
  ['lt', beyond('max')],
  ['nonempty', (on) => bound(on, 'min', 1)],
  ['positive', (on) => bound(on, 'min', on.type === 'integer' ? 1 : 0)],
  ['nonnegative', (on) => bound(on, 'min', 0)],
  ['negative', (on) => bound(on, 'max', on.type === 'integer' ? -1 : 0)],
  ['nonpositive', (on) => bound(on, 'max', 0)],
  ['int', (on) => (on.type === 'number' ? { ...on, type: 'integer' } : on)],
  ['regex', regex],
  ['startsWith', affix('^', '')],
  ['endsWith', affix('', '$')],
  ['email', change({ pattern: formatPatterns.email })],
  ['uuid', change({ pattern: formatPatterns.uuid })],
  ['guid', change({ pattern: formatPatterns.uuid })],
  ['url', change({ type: 'link', pattern: formatPatterns.url })],
  ['datetime', change({ type: 'datetime' })],
  ['date', change({ type: 'date' })],
  ['describe', describe],
  ['meta', meta],
  ['editor', editor],
  ['array', listItself],
  ['or', (on, { args, fold, place }) => unionOf([on, fold.fold(args[0], place)])],
  ['and', (on, { args, fold, place }) => both(on, fold.fold(args[0], place), fold, place)],
  ['merge', mergeWith],
  ['extend', onFields((fields, { args, fold, place }) => withKeys(fields, fold.shape(args[0], place)))],
  ['safeExtend', onFields((fields, { args, fold, place }) => withKeys(fields, fold.shape(args[0], place)))],
  ['pick', onFields((fields, { args }) => filterBy(fields, marked(args[0]), true))],
  ['omit', onFields((fields, { args }) => filterBy(fields, marked(args[0]), false))],
  ['partial', presence(false)],
  ['deepPartial', presence(false)],
  ['required', presence(true)],
  ['strict', change({ strict: true })],
]);

const withKeys = (fields: SchemaField[], more: SchemaField[] | null) => more && mergeFields(fields, more);
const filterBy = (fields: SchemaField[], names: Set<string> | null, keep: boolean) =>
  names && fields.filter((one) => names.has(one.name) === keep);

/** The field after `.name(…)`; an unknown method makes it `any`, since it may change what is accepted. */
export function applyMethod(
  on: SchemaField,
  name: string,
  args: readonly Value[],
  fold: Folder,
  place: Place,
): SchemaField {
  const method = methods.get(name);
  return method ? method(on, { args, fold, place }) : fold.give(`The method "${name}" is not known`, place);
}
