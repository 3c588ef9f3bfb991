import { isRecord } from './objects.ts';

/** JSON of a value with the keys of its objects in order: the same text for the same value, however it was written. */
export function stableJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${stableJson(value[name])}`).join()}}`;
}
