import type { EntityManager } from '@mikro-orm/postgresql';
import type { UrlKind } from './crawl-url.entity.ts';
import type { Ledger, Standing } from './ledger.ts';

/** Follows redirects from a URL until they come back to it; a chain has at most 20 of them. */
const loopSql = `
  with recursive chain as (
    select id, url, redirect_to, 1 as length from crawl_url where run_id = ? and id = ?
    union all
    select next.id, next.url, next.redirect_to, chain.length + 1 from chain
    join crawl_url as next on next.run_id = ? and next.url_hash = sha256(convert_to(chain.redirect_to, 'UTF8'))
    where chain.redirect_to is not null and next.redirect_to is not null and chain.length <= 21 and next.id <> ?
  ), closed as (
    select exists (select 1 from chain join crawl_url as start on start.run_id = ? and start.id = ? where chain.redirect_to = start.url) as is_loop
  ), ended as (
    update crawl_url set state = 'error', error = 'redirect_loop', error_message = 'The redirects lead back to where they began'
    from chain where crawl_url.run_id = ? and crawl_url.id = chain.id and crawl_url.state = 'done' and (select is_loop from closed)
    returning crawl_url.kind, crawl_url.host, crawl_url.depth, crawl_url.url_hash
  ), removed as (
    delete from snapshot_entry using ended where snapshot_id = ? and snapshot_entry.url_hash = ended.url_hash
  )
  select kind, host, depth from ended`;

/** Ends every member of a chain of redirects that leads back to one of them in `redirect_loop`. */
export async function endRedirectLoop(
  em: EntityManager,
  { run_id, snapshot_id }: { run_id: number; snapshot_id: number },
  id: number,
  ledger: Ledger,
): Promise<void> {
  const members = await em.execute<{ kind: UrlKind; host: string; depth: number }[]>(loopSql, [
    run_id,
    id,
    run_id,
    id,
    run_id,
    id,
    run_id,
    snapshot_id,
  ]);
  for (const member of members) {
    const standing: Omit<Standing, 'state'> = { ...member, rule: null };
    ledger.move({ ...standing, state: 'done' }, { ...standing, state: 'error' });
    ledger.counts.redirects -= 1;
  }
}
