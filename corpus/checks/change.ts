import type { Frontmatter } from '../../src/domain/studio/frontmatter/values.ts';

/** Names of members from the top; positions in lists are numbers. */
export type Path = readonly (string | number)[];

/** A change of one place, as data: it is applied to what the engine read and, apart from it, to what the oracle read. */
export type Change =
  | { op: 'set'; path: Path; value: unknown }
  | { op: 'remove'; path: Path }
  /** Puts a value into the list at the path. */
  | { op: 'insert'; path: Path; at: number; value: unknown }
  /** Takes an item of the list at the path to another position. */
  | { op: 'move'; path: Path; from: number; to: number };

/** The frontmatter after a change; the one given stays as it is. */
export function applyChange(frontmatter: Frontmatter, change: Change): Frontmatter {
  return changeAt(frontmatter, change.path, change) as Frontmatter;
}

function changeAt(here: unknown, path: Path, change: Change): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return changed(here, change);
  const isTarget = rest.length === 0;
  if (Array.isArray(here)) {
    if (isTarget && change.op === 'remove') return here.filter((_, at) => at !== name);
    return here.map((item, at) => (at === name ? changeAt(item, rest, change) : item));
  }
  const entries = Object.entries(here as Frontmatter);
  if (isTarget && change.op === 'remove') return fromEntries(entries.filter(([key]) => key !== name));
  if (isTarget && change.op === 'set' && !Object.hasOwn(here as Frontmatter, name)) {
    return fromEntries([...entries, [String(name), change.value]]);
  }
  return fromEntries(entries.map(([key, value]) => [key, key === name ? changeAt(value, rest, change) : value]));
}

/** Own properties whatever their names, `__proto__` too. */
const fromEntries = (entries: [string, unknown][]): Frontmatter => Object.fromEntries(entries);

function changed(here: unknown, change: Change): unknown {
  if (change.op === 'set') return change.value;
  if (change.op === 'remove') return undefined;
  const list = [...(here as unknown[])];
  if (change.op === 'insert') list.splice(change.at, 0, change.value);
  else list.splice(change.to, 0, ...list.splice(change.from, 1));
  return list;
}
