import { parsePointer, pointerTo } from '../../../lib/json-pointer.ts';
import { isRecord } from '../../../lib/objects.ts';
import { deepEqual, type Frontmatter, setOwn } from '../frontmatter/values.ts';
import { instantOf } from '../schema/dates.ts';
import type { SchemaField } from '../schema/schema.schema.ts';
import type { ConflictField, FieldChoice } from './merge.schema.ts';

/** A field that both sides changed otherwise. */
export type Clash = Omit<ConflictField, 'label'>;

/** Says of the list at a JSON Pointer whether its order means nothing (`set`) or something (`list`); undefined: not known. */
type ListKind = (pointer: string) => 'set' | 'list' | undefined;

/** What a collection's fields declare: a list of choices or of references is a set. */
export function listKindOf(fields: readonly SchemaField[]): ListKind {
  return (pointer) => {
    const field = fieldAt(fields, parsePointer(pointer) ?? []);
    return field?.list && (field.type === 'enum' || field.type === 'reference') ? 'set' : undefined;
  };
}

function fieldAt(fields: readonly SchemaField[], [name, ...rest]: readonly string[]): SchemaField | undefined {
  const field = fields.find((one) => one.name === name);
  if (field === undefined || rest.length === 0) return field;
  return fieldAt(field.fields ?? [], field.list ? rest.slice(1) : rest);
}

const setNames = new Set(['tags', 'categories', 'keywords', 'aliases', 'authors']);

const isSetName = (key: string) => setNames.has(key);

/** Whether a list holds only scalars, each once. */
function isSet(list: readonly unknown[]): boolean {
  return list.every((item) => typeof item !== 'object' || item === null) && new Set(list).size === list.length;
}

const identityKeys = ['id', 'key', 'slug', 'name'] as const;

/** The first key that identifies the items of all the lists; undefined without one. */
function identityKey(lists: readonly (readonly unknown[])[]): string | undefined {
  return identityKeys.find((key) =>
    lists.every((list) => {
      const found = new Set(list.map((item) => identityOf(item, key)));
      return !found.has(undefined) && found.size === list.length;
    }),
  );
}

/** An item's identity, the same for equal values of equal type only; undefined when it has none. */
function identityOf(item: unknown, key: string): string | undefined {
  if (!isRecord(item) || !Object.hasOwn(item, key)) return undefined;
  const value = item[key];
  return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : undefined;
}

export interface FieldRules {
  /** Overrides the names that are sets by themselves (`tags`, `categories`, `keywords`, `aliases`, `authors`). */
  listKind?: ListKind;
  /** Whether of two dates in `updated`, `lastmod` or `modified` the later one wins. Default true. */
  laterDates?: boolean;
  /** Settles clashes, by JSON Pointer. */
  choices?: ReadonlyMap<string, FieldChoice>;
}

/** The three values of one place; undefined is a place that is not there. */
interface Stages {
  base: unknown;
  current: unknown;
  incoming: unknown;
}

/** What a merge of frontmatters knows and finds on its way from place to place. */
interface Walk extends Required<FieldRules> {
  twoWay: boolean;
  clashes: Clash[];
  open: Clash[];
  resolved: string[];
  mergeValue: (walk: Walk, pointer: string, stages: Stages) => unknown;
}

interface Lists {
  base: readonly unknown[];
  current: readonly unknown[];
  incoming: readonly unknown[];
}

/** `(base − removed) ∪ added`, in current's order, then incoming's. */
function mergeSets(base: readonly unknown[], current: readonly unknown[], incoming: readonly unknown[]): unknown[] {
  const [was, ours, theirs] = [new Set(base), new Set(current), new Set(incoming)];
  return [
    ...current.filter((item) => theirs.has(item) || !was.has(item)),
    ...incoming.filter((item) => !ours.has(item) && !was.has(item)),
  ];
}

/**
 * Merges lists of maps item by item. The order is current's, unless only incoming moved items; what only the other side has
 * follows what it followed there. Pointers count items as in base, items that both sides added after them by their identity:
 * so they are the same whichever side is current.
 */
function mergeItems(walk: Walk, pointer: string, key: string, lists: Lists): unknown[] {
  const byIdentity = (list: readonly unknown[]) => new Map(list.map((item) => [identityOf(item, key) ?? '', item]));
  const [base, current, incoming] = [byIdentity(lists.base), byIdentity(lists.current), byIdentity(lists.incoming)];
  const added = new Set([...current.keys(), ...incoming.keys()].filter((id) => !base.has(id)));
  const positions = new Map([...base.keys(), ...[...added].sort()].map((id, at) => [id, at]));
  const before = walk.clashes.length;
  const inner: Walk = { ...walk, resolved: [] };
  const incomingLeads = !moved(base, current) && moved(base, incoming);
  const order = incomingLeads ? interleave(base, incoming, current) : interleave(base, current, incoming);
  const merged = order.map((id) =>
    inner.mergeValue(inner, pointerTo(pointer, positions.get(id) ?? 0), {
      base: base.get(id),
      current: current.get(id),
      incoming: incoming.get(id),
    }),
  );
  if (walk.clashes.length === before) walk.resolved.push(pointer);
  else walk.resolved.push(...inner.resolved);
  return merged.filter((item) => item !== undefined);
}

type Items = ReadonlyMap<string, unknown>;

/** Whether items that were there already stand in another order. */
function moved(base: Items, side: Items): boolean {
  const kept = [...side.keys()].filter((id) => base.has(id));
  const was = [...base.keys()].filter((id) => side.has(id));
  return kept.some((id, at) => id !== was[at]);
}

/** All identities in the order of `lead`; those only `other` has come after their neighbour there and what `lead` added to it. */
function interleave(base: Items, lead: Items, other: Items): string[] {
  const followers = new Map<string | undefined, string[]>();
  let neighbour: string | undefined;
  for (const id of other.keys()) {
    if (lead.has(id)) neighbour = id;
    else if (followers.get(neighbour)?.push(id) === undefined) followers.set(neighbour, [id]);
  }
  const order: string[] = [];
  let waiting = followers.get(undefined) ?? [];
  for (const id of lead.keys()) {
    if (base.has(id) || other.has(id)) {
      order.push(...waiting);
      waiting = [];
    }
    order.push(id);
    waiting.push(...(followers.get(id) ?? []));
  }
  return [...order, ...waiting];
}

interface MergedFields {
  /** Where a clash is not settled it holds current's value. */
  frontmatter: Frontmatter;
  /** Every clash, settled or not. */
  clashes: Clash[];
  /** The unresolved clashes. */
  open: Clash[];
  /** JSON Pointers of what either side changed and no clash stopped. */
  resolved: string[];
}

/**
 * Merges three frontmatters key by key (section 6.1 of the studio specification): maps recursively, lists that are sets as sets,
 * lists of maps with a unique `id`, `key`, `slug` or `name` item by item, all else whole. Keys stand in current's order.
 *
 * @param base null: no common ancestor; what is equal passes, every other difference is a clash.
 */
export function mergeFrontmatter(
  base: Frontmatter | null,
  current: Frontmatter,
  incoming: Frontmatter,
  { listKind = () => undefined, laterDates = true, choices = new Map() }: FieldRules = {},
): MergedFields {
  const found = { clashes: [], open: [], resolved: [] };
  const walk: Walk = { listKind, laterDates, choices, twoWay: base === null, ...found, mergeValue };
  return { frontmatter: mergeMaps(walk, '', base ?? {}, current, incoming), ...found };
}

const timesOfChange = new Set(['updated', 'lastmod', 'modified']);

/** Whether a key of this name says when the entry was last changed, so that of two dates the later is right. */
const saysWhenChanged = (key: string) => timesOfChange.has(key);

function mergeMaps(
  walk: Walk,
  pointer: string,
  base: Frontmatter,
  current: Frontmatter,
  incoming: Frontmatter,
): Frontmatter {
  const merged: Frontmatter = {};
  for (const key of new Set([...Object.keys(current), ...Object.keys(incoming), ...Object.keys(base)])) {
    const stages = { base: own(base, key), current: own(current, key), incoming: own(incoming, key) };
    const value = mergeValue(walk, pointerTo(pointer, key), stages);
    if (value !== undefined) setOwn(merged, key, value);
  }
  return merged;
}

const own = (map: Frontmatter, key: string) => (Object.hasOwn(map, key) ? map[key] : undefined);

function mergeValue(walk: Walk, pointer: string, stages: Stages): unknown {
  const { base, current, incoming } = stages;
  if (deepEqual(current, incoming)) {
    if (!walk.twoWay && !deepEqual(base, current)) walk.resolved.push(pointer);
    return current;
  }
  if (!walk.twoWay && (deepEqual(base, current) || deepEqual(base, incoming))) {
    walk.resolved.push(pointer);
    return deepEqual(base, current) ? incoming : current;
  }
  if (isRecord(current) && isRecord(incoming) && (base === undefined || isRecord(base))) {
    return mergeMaps(walk, pointer, base ?? {}, current, incoming);
  }
  return walk.twoWay ? clash(walk, pointer, stages) : mergeChanged(walk, pointer, stages);
}

/** Both sides have changed the value, differently. */
function mergeChanged(walk: Walk, pointer: string, stages: Stages): unknown {
  const { base = [], current, incoming } = stages;
  if (Array.isArray(base) && Array.isArray(current) && Array.isArray(incoming)) {
    const lists = [base, current, incoming];
    const kind = walk.listKind(pointer) ?? (isSetName(lastName(pointer)) ? 'set' : 'list');
    if (kind === 'set' && lists.every(isSet)) {
      walk.resolved.push(pointer);
      return mergeSets(base, current, incoming);
    }
    const key = identityKey(lists);
    return key === undefined
      ? clash(walk, pointer, stages)
      : mergeItems(walk, pointer, key, { base, current, incoming });
  }
  if (walk.laterDates && saysWhenChanged(lastName(pointer))) {
    const [ours, theirs] = [instantOf(current), instantOf(incoming)];
    if (ours !== null && theirs !== null) {
      walk.resolved.push(pointer);
      return theirs > ours ? incoming : current;
    }
  }
  return clash(walk, pointer, stages);
}

const lastName = (pointer: string) => pointer.slice(pointer.lastIndexOf('/') + 1);

function clash({ clashes, open, choices }: Walk, field: string, stages: Stages): unknown {
  const there = Object.entries(stages).filter(([, value]) => value !== undefined);
  const found: Clash = { field, ...Object.fromEntries(there) };
  clashes.push(found);
  const choice = choices.get(field);
  if (choice === undefined) open.push(found);
  else return choice.take === undefined ? choice.value : stages[choice.take];
  return stages.current;
}
