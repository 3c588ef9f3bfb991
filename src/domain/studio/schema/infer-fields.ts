import { isRecord } from '../../../lib/objects.ts';
import { dateKind } from './dates.ts';
import { type Group, toolFiles } from './inferred-groups.ts';
import { membership, noPaths, without } from './path-set.ts';
import type { Draft } from './reader.ts';
import type { EntryFormat, FieldType, SchemaField } from './schema.schema.ts';
import { dataExtensions, indexNames, type SiteLayout } from './site-layout.ts';

type Slugs = ReadonlyMap<string, ReadonlySet<string>>;

/** Thresholds of inference; a share is of the entries that have the key, presence is of all. */
const REQUIRED_SHARE = 0.98;
const REQUIRED_ENTRIES = 20;
const MAJORITY = 0.99;
const ENUM_VALUES = 12;
const ENUM_ENTRIES = 30;
const REFERENCE_SHARE = 0.95;
/** Below this a coincidence of names is likelier than a reference. */
const REFERENCE_ENTRIES = 5;
const MAX_DEPTH = 4;
const MAX_KEYS = 500;
/** Longest key that becomes a field, and longest value that becomes an option: an entry may have one of its whole size. */
const MAX_LENGTH = 200;
/** Items of one list that are looked at: each of thousands of entries may have tens of thousands. */
const MAX_ITEMS = 100;

const imageName = /\.(png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?)([?#].*)?$/is;
const webAddress = /^https?:\/\/\S+$/;

interface Context {
  collection: string;
  slugs: Slugs;
  depth: number;
}

type Steps<T> = Generator<undefined, T, undefined>;

/**
 * The fields a collection's entries show: types by majority, and the closer meaning (date, enum, image, reference) where nearly
 * all values agree. What is mixed becomes `any`.
 * @param samples frontmatter of the entries
 * @param slugs slugs of every collection, to recognise references
 */
export function inferFields(
  samples: readonly Record<string, unknown>[],
  collection: string,
  slugs: Slugs,
): SchemaField[] {
  const steps = inferSteps(samples, collection, slugs);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The same in steps, between which the caller may give way. */
export const inferSteps = (
  samples: readonly Record<string, unknown>[],
  collection: string,
  slugs: Slugs,
): Steps<SchemaField[]> => fieldsOf(samples, { collection, slugs, depth: 0 });

function* fieldsOf(samples: readonly Record<string, unknown>[], context: Context): Steps<SchemaField[]> {
  const values = new Map<string, unknown[]>();
  for (const sample of samples) {
    yield;
    for (const [key, value] of Object.entries(sample)) {
      const list = values.get(key);
      if (list) list.push(value);
      else if (values.size < MAX_KEYS && key.length <= MAX_LENGTH) values.set(key, [value]);
    }
  }
  const fields: SchemaField[] = [];
  for (const [name, seen] of values) {
    yield;
    fields.push(yield* fieldOf(name, seen, samples.length, context));
  }
  return fields;
}

function* fieldOf(name: string, seen: readonly unknown[], total: number, context: Context): Steps<SchemaField> {
  const present = seen.filter((value) => value !== null);
  const field: SchemaField = {
    name,
    type: 'any',
    required: total >= REQUIRED_ENTRIES && seen.length >= total * REQUIRED_SHARE,
    list: false,
  };
  if (present.length < seen.length) field.nullable = true;
  if (present.length === 0) return field;
  const lists = present.filter((value) => Array.isArray(value));
  if (lists.length >= present.length * MAJORITY) {
    const items = lists.flatMap((list) => list.slice(0, MAX_ITEMS)).filter((item) => item !== null);
    return { ...field, list: true, ...(yield* describe(items, { ...context, depth: context.depth + 1 }, true)) };
  }
  return { ...field, ...(yield* describe(present, context, false)) };
}

type Description = Pick<SchemaField, 'type' | 'options' | 'relation' | 'fields'>;

function* describe(values: readonly unknown[], context: Context, multiple: boolean): Steps<Description> {
  const share = (test: (value: unknown) => boolean) => values.filter(test).length / values.length;
  if (values.length === 0) return { type: 'any' };
  if (share((value) => typeof value === 'boolean') >= MAJORITY) return { type: 'boolean' };
  if (share(Number.isInteger) >= MAJORITY) return { type: 'integer' };
  if (share((value) => typeof value === 'number') >= MAJORITY) return { type: 'number' };
  if (share(isRecord) >= MAJORITY) {
    if (context.depth >= MAX_DEPTH) return { type: 'object' };
    const inner = yield* fieldsOf(values.filter(isRecord), { ...context, depth: context.depth + 1 });
    return { type: 'object', fields: inner };
  }
  const texts = values.filter((value) => typeof value === 'string');
  return texts.length >= values.length * MAJORITY ? describeText(texts, context, multiple) : { type: 'any' };
}

function describeText(texts: readonly string[], context: Context, multiple: boolean): Description {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const most = (test: (text: string) => boolean) => texts.filter(test).length >= texts.length * MAJORITY;
  const kinds = new Set(texts.map(dateKind));
  if (!kinds.has(null)) return { type: kinds.has('date') ? 'date' : 'datetime' };
  if (most((text) => imageName.test(text))) return { type: 'image' };
  const target = referenced(texts, counts.size, context);
  if (target !== null) return { type: 'reference', relation: { collection: target, multiple } };
  const isOption = ([text, count]: [string, number]) => count >= 2 && text.length <= MAX_LENGTH;
  if (counts.size <= ENUM_VALUES && texts.length >= ENUM_ENTRIES && [...counts].every(isOption)) {
    return { type: 'enum', options: [...counts.keys()].sort() };
  }
  if (most((text) => webAddress.test(text))) return { type: 'link' };
  const long = texts.some((text) => text.length > MAX_LENGTH || text.includes('\n'));
  return { type: (long ? 'text' : 'string') satisfies FieldType };
}

/** The other collection that nearly all values name an entry of; the smallest one when several do. */
function referenced(texts: readonly string[], distinct: number, { collection, slugs }: Context): string | null {
  if (texts.length < REFERENCE_ENTRIES || distinct < 2) return null;
  let best: [string, number] | null = null;
  for (const [name, known] of slugs) {
    if (name === collection || (best !== null && known.size >= best[1])) continue;
    if (mostly(texts, known)) best = [name, known.size];
  }
  return best?.[0] ?? null;
}

/** Whether enough of the texts are known; gives up at the first miss too many, as most collections are no candidates. */
function mostly(texts: readonly string[], known: ReadonlySet<string>): boolean {
  let misses = texts.length - texts.length * REFERENCE_SHARE;
  for (const text of texts) if (!known.has(text) && --misses < 0) return false;
  return true;
}

/** `_blog-posts` → `Blog posts`. */
export function humanize(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_.-]+/g, ' ')
    .trim()
    .toLowerCase();
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

/** Language of an entry by its extension: data files their own, Markdown YAML. */
export function formatOf(extension: string | undefined): EntryFormat {
  return extension === 'json' || extension === 'toml' ? extension : 'yaml';
}

/** The collection of a group of files that lie together; its fields are inferred later. */
export function schemaOfGroup(group: Group, layout: SiteLayout, declared: readonly Draft[]): Draft {
  const { directory: base, extensions, shallow } = group;
  const rejected = declared.map((draft) => draft.rejects).filter((set) => set !== noPaths);
  const data = dataExtensions.some((extension) => extension === group.extensions[0]);
  const paths = without(
    { kind: 'folder', base, extensions, ...(shallow && { depth: 1 }) },
    { kind: 'excluded', root: layout.root, given: layout.given, framework: layout.framework },
    ...rejected,
    ...(data ? [toolFiles] : []),
  );
  const names = indexNames(layout.framework);
  const pages = data ? undefined : layout.pages;
  return {
    infer: true,
    rejects: noPaths,
    schema: {
      collection: group.name,
      label: humanize(group.name),
      kind: data ? 'data' : 'page',
      path: group.directory,
      format: formatOf(group.extensions[0]),
      extensions: group.extensions,
      source: pages ? { kind: pages.kind, path: pages.path } : { kind: 'inference', path: group.directory },
      inferred: true,
      fields: [...(pages?.fields ?? [])],
      warnings: [],
      strict: false,
      items_in_file: false,
      slugs: { extensions: group.extensions, index_names: data ? [] : names, locales: layout.locales },
      paths,
      matches: membership(paths),
    },
  };
}
