import type { EntityManager } from '@mikro-orm/postgresql';
import type { Outcome } from './outcome.ts';

/**
 * Joins the rows of leased URLs, as `leased`, to a `given` that has their `place`: found there, none but them is read, whatever the statistics
 * say of the frontier.
 */
export const leasedRows = `
  cross join lateral (select ctid as place, id, run_id, url_hash, url, kind, state from crawl_url where ctid = given.place limit 1) as leased`;

/**
 * Condition on what `leasedRows` joins: that it still is what was given.
 * @param run, epoch the parameters that name them
 */
export const isLeased = (run: string, epoch: string): string =>
  `leased.id = given.id and leased.run_id = ${run} and leased.state = 'leased' and (select epoch from crawler_run where id = ${run}) = ${epoch}`;

const placesSql = `
  select id, ctid as place from crawl_url
  where run_id = ? and state = 'leased' and (select epoch from crawler_run where id = ?) = ?
    and id in (select unnest(string_to_array(?, ' '))::bigint)`;

/** @returns by id the places where URLs are that still are leased in a run of this epoch */
export async function placesOf(
  em: EntityManager,
  { run_id, epoch }: { run_id: number; epoch: number },
  outcomes: readonly Outcome[],
): Promise<Map<number, string>> {
  const ids = outcomes.map(({ of }) => of.id).join(' ');
  const rows = await em.execute<{ id: string; place: string }[]>(placesSql, [run_id, run_id, epoch, ids]);
  return new Map(rows.map(({ id, place }) => [Number(id), place]));
}
