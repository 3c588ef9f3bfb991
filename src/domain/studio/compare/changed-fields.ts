import type { Frontmatter } from '../frontmatter/types.ts';
import { deepEqual, isRecord, pointerTo } from '../frontmatter/values.ts';

/**
 * JSON Pointers (RFC 6901) of the keys that two frontmatters differ in: maps on both sides are looked into, all else counts as a whole.
 * Keys of `after` come first, in its order, then those it lacks.
 */
export function changedFields(before: Frontmatter, after: Frontmatter, parent = ''): string[] {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((key) => {
    const [old, now] = [own(before, key), own(after, key)];
    if (deepEqual(old, now)) return [];
    const pointer = pointerTo(parent, key);
    return isRecord(old) && isRecord(now) ? changedFields(old, now, pointer) : [pointer];
  });
}

const own = (map: Frontmatter, key: string) => (Object.hasOwn(map, key) ? map[key] : undefined);
