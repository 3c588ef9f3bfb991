import { z } from 'zod';

/** Bytes of JSON that a result has at most, about; what holds it is bounded by 32 KiB. */
const budget = 24_000;
/** Characters of a long text that one call gives. */
export const rangeLengths = { default: 16_000, max: 20_000 } as const;
/** Bytes of JSON that these are. */
const rangeBytes = 21_000;

/** Bytes of a text in JSON, where `<` is escaped, too. */
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) + 5 * (text.match(/</g)?.length ?? 0);

/** As much of a text's beginning as fits; never half of a surrogate pair. */
function beginningOf(text: string, bytes: number): string {
  if (bytesOf(text) <= bytes) return text;
  let [fits, tooLong] = [0, Math.min(text.length, bytes + 1)];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (bytesOf(text.slice(0, middle)) <= bytes) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits).replace(/[\ud800-\udbff]$/, '');
}

/** What is left of a result's room, and whether anything was left out for lack of it. */
interface Room {
  left: number;
  isCut: boolean;
}

const nameLength = 4;

/** The schema within what only says that a value may be absent. */
function inner(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType ? inner(innerType) : schema;
}

/** A text as long as there is room. */
function cutText(text: string, room: Room): string {
  const kept = beginningOf(text, Math.max(room.left, 200));
  if (kept === text) return text;
  room.isCut = true;
  return `${kept}… (${text.length - kept.length} characters more)`;
}

/**
 * What a schema names of a value in its wire form, as far as there is room. Members stay, so that the rest still fits its schema: texts are cut,
 * lists end early, free values become empty.
 */
function within(outer: z.core.$ZodType, value: unknown, room: Room): unknown {
  const schema = inner(outer);
  if (value === null || value === undefined) return value;
  if (schema instanceof z.ZodObject && typeof value === 'object') {
    const kept: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(schema.shape)) {
      const given = (value as Record<string, unknown>)[name];
      if (given === undefined) continue;
      room.left -= name.length + nameLength;
      kept[name] = within(member as z.core.$ZodType, given, room);
    }
    return kept;
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    const kept: unknown[] = [];
    for (const item of value) {
      if (room.left <= 0) {
        room.isCut = true;
        break;
      }
      kept.push(within(schema.element as z.core.$ZodType, item, room));
    }
    return kept;
  }
  if (typeof value === 'string') {
    const text = cutText(value, room);
    room.left -= bytesOf(text);
    return text;
  }
  if (typeof value !== 'object') {
    room.left -= String(value).length;
    return value;
  }
  const size = bytesOf(JSON.stringify(value));
  if (size <= room.left) {
    room.left -= size;
    return value;
  }
  room.isCut = true;
  return Array.isArray(value) ? [] : {};
}

/**
 * Shortens an output to what a model gets of it.
 * @param schema the members that are given
 * @param output in its wire form
 */
export function shortened(schema: z.ZodObject, output: unknown): { value: Record<string, unknown>; isCut: boolean } {
  const room = { left: budget, isCut: false };
  return { value: within(schema, output, room) as Record<string, unknown>, isCut: room.isCut };
}

/** The part of a long text that a call wants, in UTF-16 code units, moved so that no character is divided, as far as it has bytes to. */
export function rangeOf(text: string, offset: number, length: number) {
  const isLow = (at: number) => /[\udc00-\udfff]/.test(text.charAt(at));
  const from = isLow(offset) ? offset + 1 : offset;
  const to = Math.min(text.length, from + length);
  const part = beginningOf(text.slice(from, to < text.length && isLow(to) ? to + 1 : to), rangeBytes);
  return { part, range: { offset: from, length: part.length, total: text.length } };
}
