import { createHash } from 'node:crypto';

/** Gives a whole number from 0 up to, not including, `limit`. */
export type Random = (limit: number) => number;

/** Random numbers that are the same on every run for the same text, so that a fault found once is found again. */
export function seeded(text: string): Random {
  let count = 0;
  let pool = Buffer.alloc(0);
  return (limit) => {
    if (pool.length < 4) pool = createHash('sha256').update(`${text}\0${count++}`).digest();
    const value = pool.readUInt32BE(0);
    pool = pool.subarray(4);
    return limit <= 1 ? 0 : value % limit;
  };
}

/** One of the items. @throws RangeError when there is none */
export function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}
