import { fieldError } from '../../../kernel/errors.ts';
import { parsePointer } from '../../../lib/json-pointer.ts';
import { isRecord } from '../../../lib/objects.ts';
import { type Frontmatter, setOwn } from './values.ts';

/**
 * The frontmatter a save wants: `patch` laid over `current` (RFC 7396: objects merge, lists replace, null removes), then the
 * members that `unset` names (RFC 6901) removed. A null that `current` already holds stays, at any depth of objects, so that what
 * was read can be sent back; `unset` removes it. A member that is not there is no fault; list positions count before removal.
 *
 * @throws DomainError `validation_failed` naming `unset.<n>` when it is no pointer, names the whole, or is no position of its list.
 */
export function applyMergePatch(current: Frontmatter, patch: Frontmatter, unset: readonly string[] = []): Frontmatter {
  const merged = mergeObject(current, patch);
  if (unset.length === 0) return merged;
  const removals: Removal = { self: false, members: new Map() };
  unset.forEach((pointer, at) => {
    const names = parsePointer(pointer);
    if (names === undefined) throw fieldError('validation_failed', `unset.${at}`, `${pointer} is not a JSON Pointer`);
    if (names.length === 0) throw fieldError('validation_failed', `unset.${at}`, 'names the whole frontmatter');
    mark(removals, merged, names, (name) => {
      throw fieldError('validation_failed', `unset.${at}`, `${pointer}: ${name} is not a position of a list`);
    });
  });
  return remove(merged, removals) as Frontmatter;
}

function mergeObject(target: unknown, patch: Frontmatter): Frontmatter {
  const result: Frontmatter = {};
  if (isRecord(target)) for (const [key, value] of Object.entries(target)) setOwn(result, key, value);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      if (Object.hasOwn(result, key) && result[key] !== null) delete result[key];
    } else
      setOwn(result, key, isRecord(value) ? mergeObject(Object.hasOwn(result, key) ? result[key] : {}, value) : value);
  }
  return result;
}

/** What to remove, as a tree of names. */
interface Removal {
  self: boolean;
  members: Map<string, Removal>;
}

/** Marks a member to be removed, where there is one: names that lead nowhere take no memory. */
function mark(root: Removal, value: unknown, names: readonly string[], noPosition: (name: string) => never): void {
  const nodes: [name: string, node: Removal][] = [];
  let here = value;
  for (const name of names) {
    if (Array.isArray(here)) {
      if (!/^(?:0|[1-9]\d*)$/.test(name)) noPosition(name);
    } else if (!isRecord(here)) return;
    if (!Object.hasOwn(here, name)) return;
    here = Reflect.get(here, name);
    const node = (nodes.at(-1)?.[1] ?? root).members.get(name) ?? { self: false, members: new Map() };
    nodes.push([name, node]);
  }
  let parent = root;
  for (const [name, node] of nodes) {
    parent.members.set(name, node);
    parent = node;
  }
  parent.self = true;
}

function remove(value: unknown, removal: Removal): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => {
      const member = removal.members.get(String(at));
      if (member === undefined) return [item];
      return member.self ? [] : [remove(item, member)];
    });
  }
  if (!isRecord(value)) return value;
  const result: Frontmatter = {};
  for (const [key, inner] of Object.entries(value)) {
    const member = removal.members.get(key);
    if (member === undefined) setOwn(result, key, inner);
    else if (!member.self) setOwn(result, key, remove(inner, member));
  }
  return result;
}
