import type { Frontmatter } from '../../src/domain/studio/frontmatter/values.ts';
import { isRecord } from '../../src/lib/objects.ts';
import { pick, type Random } from '../seeded.ts';
import type { Change, Path } from './change.ts';

/** The edits every file is put through, where it has what they need. */
export const editNames = [
  'set_scalar',
  'add_key',
  'delete_second_key',
  'list_add',
  'list_remove',
  'list_reorder',
  'nested_set',
] as const;
export type EditName = (typeof editNames)[number];

/** All that a hasty writer of YAML forgets to quote. */
export const awkwardText = `It's "quoted": 100 % # not a comment`;

/** One edit of each kind the frontmatter has a place for. */
export function planEdits(frontmatter: Frontmatter, random: Random): { name: EditName; change: Change }[] {
  const keys = Object.keys(frontmatter);
  const places = [...walk(frontmatter, [])];
  const lists = places.filter((place): place is Place & { value: unknown[] } => isFilledList(place.value));
  const plans: Record<EditName, Change | undefined> = {
    set_scalar: replaceScalar(places.filter(({ path }) => path.length === 1)),
    add_key: { op: 'set', path: [freeKey(frontmatter, random)], value: awkwardText },
    delete_second_key: keys[1] === undefined ? undefined : { op: 'remove', path: [keys[1]] },
    list_add: lists.length === 0 ? undefined : addItem(pick(lists, random), random),
    list_remove: removeItem(lists.filter(({ value }) => value.length > 1)),
    list_reorder: moveItem(lists.filter(({ value }) => new Set(value.map((item) => JSON.stringify(item))).size > 1)),
    nested_set: replaceScalar(places.filter(({ path }) => path.length > 1)),
  };
  return editNames.flatMap((name) => (plans[name] === undefined ? [] : [{ name, change: plans[name] }]));

  function replaceScalar(from: Place[]): Change | undefined {
    const scalars = from.filter(({ value }) => !isRecord(value) && !Array.isArray(value));
    return scalars.length === 0 ? undefined : { op: 'set', path: pick(scalars, random).path, value: awkwardText };
  }

  function removeItem(from: { path: Path; value: unknown[] }[]): Change | undefined {
    if (from.length === 0) return undefined;
    const { path, value } = pick(from, random);
    return { op: 'remove', path: [...path, random(value.length)] };
  }

  function moveItem(found: { path: Path; value: unknown[] }[]): Change | undefined {
    if (found.length === 0) return undefined;
    const { path, value } = pick(found, random);
    const from = random(value.length);
    const others = value.flatMap((_, at) => (at === from ? [] : [at]));
    return { op: 'move', path, from, to: pick(others, random) };
  }
}

interface Place {
  path: Path;
  value: unknown;
}

function* walk(value: unknown, path: Path): Generator<Place> {
  if (path.length > 0) yield { path, value };
  const members = Array.isArray(value) ? value.entries() : isRecord(value) ? Object.entries(value) : [];
  for (const [name, member] of members) yield* walk(member, [...path, name]);
}

const isFilledList = (value: unknown) => Array.isArray(value) && value.length > 0;

function addItem({ path, value }: { path: Path; value: unknown[] }, random: Random): Change {
  const like = value[0];
  const item = isRecord(like) ? { ...like, added: awkwardText } : typeof like === 'number' ? 4711 : awkwardText;
  return { op: 'insert', path, at: random(value.length + 1), value: item };
}

function freeKey(frontmatter: Frontmatter, random: Random): string {
  for (;;) {
    const key = `added_${random(1000)}`;
    if (!Object.hasOwn(frontmatter, key)) return key;
  }
}
