import { type Stats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { absentAs } from './failures.ts';

/** Names that are in memory are looked at in microseconds; after so many milliseconds of that they are not, and the disk is waited for. */
const lookingTime = 2;

/** A file as it stands; null: there is none. */
export type LookUp = (place: string) => Promise<Stats | null> | Stats | null;

export const lookUp: LookUp = (place) => stat(place).catch(absentAs(null));

/** Looks at many files. */
export function quickLook(): LookUp {
  const until = performance.now() + lookingTime;
  return (place) => (performance.now() < until ? (statSync(place, { throwIfNoEntry: false }) ?? null) : lookUp(place));
}
