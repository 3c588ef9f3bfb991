import type { Frontmatter } from '../../frontmatter/types.ts';
import { deepEqual, isRecord, pointerTo, setOwn } from '../../frontmatter/values.ts';
import { instantOf } from '../../schema/dates.ts';
import type { ConflictField } from '../merge.schema.ts';
import { identityKey, isSet, isSetName } from './list-kind.ts';
import { mergeItems, mergeSets } from './merge-lists.ts';
import type { FieldRules, Stages, Walk } from './walk.ts';

export interface MergedFields {
  /** Where a clash is not settled it holds current's value. */
  frontmatter: Frontmatter;
  /** Every clash, settled or not. */
  clashes: ConflictField[];
  /** The clashes nobody has settled. */
  open: ConflictField[];
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
  const found: ConflictField = { field, ...Object.fromEntries(there) };
  clashes.push(found);
  const choice = choices.get(field);
  if (choice === undefined) open.push(found);
  else return choice.take === undefined ? choice.value : stages[choice.take];
  return stages.current;
}
