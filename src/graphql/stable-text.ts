import { isRecord } from '../lib/objects.ts';
/** JSON of a value with the keys of its objects in order: the same text for the same arguments, however they were written. */
export function stableText(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}
