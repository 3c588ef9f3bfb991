import type { Outcome } from './outcome.ts';

/** The type of `bigint` in PostgreSQL's catalogue. */
const bigintType = 20;

/** Numbers as a `bigint[]` in the form PostgreSQL's protocol has for it (`array_send`): as digits they take longer to read than to store. */
function bigintArray(numbers: readonly bigint[]): Buffer {
  if (numbers.length === 0) return Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bigintType]);
  const bytes = Buffer.allocUnsafe(20 + numbers.length * 12);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Dimensions, no nulls, type; then size and first index of the only dimension.
  for (const [index, word] of [1, 0, bigintType, numbers.length, 1].entries()) view.setInt32(index * 4, word);
  let at = 20;
  for (const number of numbers) {
    view.setInt32(at, 8);
    view.setBigInt64(at + 4, number);
    at += 12;
  }
  return bytes;
}

/** Links of outcomes as three `bigint[]`: where they are from, the last place of each one's keys among all keys, and all keys. */
export function linkRows(outcomes: readonly Outcome[]): [from: Buffer, last: Buffer, keys: Buffer] {
  const linking = outcomes.filter(({ link_keys }) => link_keys.length > 0);
  const keys = linking.flatMap(({ link_keys }) => link_keys);
  let count = 0;
  const last = linking.map(({ link_keys }) => {
    count += link_keys.length;
    return BigInt(count);
  });
  return [bigintArray(linking.map(({ of }) => BigInt(of.id))), bigintArray(last), bigintArray(keys)];
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
