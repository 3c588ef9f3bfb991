import { keyBytes } from './link-keys.ts';
import type { Outcome } from './outcome.ts';

/** The type of `bigint` in PostgreSQL's catalogue. */
const bigintType = 20;

/** Numbers of eight bytes each, in pieces, as a `bigint[]` in the form PostgreSQL's protocol has for it (`array_send`). */
function bigintArray(pieces: readonly Uint8Array[]): Buffer {
  const count = pieces.reduce((sum, { length }) => sum + length, 0) / keyBytes;
  if (count === 0) return Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bigintType]);
  const bytes = Buffer.allocUnsafe(20 + count * (4 + keyBytes));
  // Dimensions, no nulls, type; then size and first index of the only dimension.
  let at = 0;
  for (const word of [1, 0, bigintType, count, 1]) at = bytes.writeInt32BE(word, at);
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += keyBytes) {
      at = bytes.writeInt32BE(keyBytes, at);
      for (let next = 0; next < keyBytes; next += 1) bytes[at + next] = piece[from + next] as number;
      at += keyBytes;
    }
  }
  return bytes;
}

function packed(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * 8);
  for (const [index, number] of numbers.entries()) bytes.writeBigInt64BE(BigInt(number), index * 8);
  return bytes;
}

/** Links of outcomes as three `bigint[]`: where they are from, the last place of each one's keys among all keys, and all keys. */
export function linkRows(outcomes: readonly Outcome[]): [from: Buffer, last: Buffer, keys: Buffer] {
  const linking = outcomes.filter(({ link_keys }) => link_keys.length > 0);
  let count = 0;
  const last = linking.map(({ link_keys }) => {
    count += link_keys.length / keyBytes;
    return count;
  });
  const from = linking.map(({ of }) => of.id);
  return [
    bigintArray([packed(from)]),
    bigintArray([packed(last)]),
    bigintArray(linking.map(({ link_keys }) => link_keys)),
  ];
}

/**
 * A statement that writes the links of a run's URLs; what is there already stays as it is.
 * @param run the parameter that names the run; `from`, `last` and `keys` those that hold `linkRows`
 * @param which condition on `from_id`
 */
export const insertLinksSql = (run: string, from: string, last: string, keys: string, which: string): string => `
  insert into crawl_link (run_id, from_id, to_keys)
  select ${run}::integer, from_id, (${keys}::bigint[])[before + 1 : last] from (
    select from_id, last::integer, coalesce(lag(last) over (order by last), 0)::integer as before
    from unnest(${from}::bigint[], ${last}::bigint[]) as link (from_id, last)) as link
  where ${which} on conflict do nothing`;
