import { deleteInBatches } from '../../../kernel/sql.ts';
import type { CrawlerServices } from '../crawlers.ts';

const day = 24 * 3600_000;
/** Snapshots of a crawler that are kept whatever their age, and the days all are kept. */
const keptPerCrawler = 20;
const keptDays = 90;
/** Days rows of frontiers, links and logs are kept after their run, and runs themselves. */
const frontierDays = 30;
const runDays = 365;
const deletedCrawlerDays = 30;
/** Rows removed by one statement, and statements of each kind in one night; the rest waits for the next. */
const removedAtOnce = 10_000;
const mostBatches = 500;

/** One that is published at this moment has its time before its crawler's row can be seen: it is no matter for tonight. */
const expireSql = `
  update snapshot set state = 'expired'
  where state in ('ready', 'held', 'partial') and not pinned and sealed_at < ? and (published_at is null or published_at < ?)
    and not exists (select 1 from crawler where published_snapshot_id = snapshot.id)
    and (select count(*) from snapshot as newer where newer.crawler_id = snapshot.crawler_id and newer.id > snapshot.id
      and newer.state in ('ready', 'held', 'partial')) >= ${keptPerCrawler}`;

const entriesSql = `
  delete from snapshot_entry where ctid = any (array(
    select entry.ctid from snapshot_entry as entry join snapshot on snapshot.id = snapshot_id
    where state = 'expired' limit ${removedAtOnce}))`;

/** Expired ones stay as a line of the history as long as their run; discarded ones go as soon as they are empty. */
const emptySql = `
  delete from snapshot where state = 'expired' and not exists (select 1 from snapshot_entry where snapshot_id = snapshot.id)
    and (sealed_at is null or not exists (select 1 from crawler_run where id = snapshot.run_id))`;

const endedRuns = `select id from crawler_run where completed_at < ?`;

const urlsSql = `
  delete from crawl_url where ctid = any (array(
    select ctid from crawl_url where run_id in (${endedRuns}) limit ${removedAtOnce}))`;

const linksSql = `
  delete from crawl_link where ctid = any (array(
    select ctid from crawl_link where run_id in (${endedRuns}) limit ${removedAtOnce}))`;

/** A run that a snapshot still speaks of stays, however old. */
const runsSql = `
  delete from crawler_run where completed_at < ?
    and not exists (select 1 from snapshot where run_id = crawler_run.id and state <> 'expired')`;

/** Deletes entries of snapshots that cannot be read any more, in batches; also of those discarded or deleted by hand. */
export async function removeExpiredSnapshots(services: CrawlerServices, ended: AbortSignal): Promise<void> {
  await deleteInBatches(services.orm, entriesSql, [], { most: mostBatches, signal: ended });
  await services.orm.em.fork().execute(emptySql);
}

/**
 * Lets go of what crawls leave behind once it is old: snapshots but the last 20 of each crawler and all of 90 days, frontiers 30 days and runs
 * 365 days after their end, deleted crawlers after 30 days. What is published or pinned stays, and the newest sealed snapshot.
 */
export async function retainCrawls(services: CrawlerServices, ended: AbortSignal): Promise<void> {
  const now = services.clock.now().getTime();
  const before = (days: number) => new Date(now - days * day);
  const em = services.orm.em.fork();
  const deleted = before(deletedCrawlerDays);
  await em.execute(
    `update snapshot set state = 'expired', sealed_at = null
     where crawler_id in (select id from crawler where deleted_at < ?) and (state <> 'expired' or sealed_at is not null)`,
    [deleted],
  );
  await em.execute(expireSql, [before(keptDays), before(1)]);
  await removeExpiredSnapshots(services, ended);
  for (const sql of [urlsSql, linksSql])
    await deleteInBatches(services.orm, sql, [before(frontierDays)], { most: mostBatches, signal: ended });
  await em.execute(runsSql, [before(runDays)]);
  await em.execute(
    `delete from crawler where deleted_at < ? and not exists (select 1 from snapshot where crawler_id = crawler.id)`,
    [deleted],
  );
}
