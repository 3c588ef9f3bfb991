/**
 * Where an object is: what names it, and what it belongs to, to operations. Records do not say it all (a branch knows its name, not its
 * project), so each carries its place from the field that answered with it to the fields below.
 */

/** Values of an operation's input by their names: `organization`, `project` and the keys of a record. */
export type Place = Record<string, unknown>;

const place = Symbol('place');

type Placed = { [place]?: Place };

/** The place of an object; empty at the root of a document. */
export const placeOf = (record: unknown): Place => (record as Placed | undefined)?.[place] ?? {};

/** Gives a record its place, unless it has one. */
export function placed<T extends object>(record: T, at: Place): T {
  (record as Placed)[place] ??= at;
  return record;
}

/** An object of which only the place is known: its record is read when one of its fields is selected. */
export class Located {}

/** The object at a place. */
export const located = (at: Place): Located => placed(new Located(), at);
