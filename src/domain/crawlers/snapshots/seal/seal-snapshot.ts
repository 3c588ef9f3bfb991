import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../services.ts';
import { CrawlSnapshot, type SnapshotCheck } from '../snapshot.entity.ts';
import { checkSnapshot } from './checks.ts';
import { collisionsIn } from './collisions.ts';
import type { EndedRun, SealedSnapshot } from './ended-run.ts';
import { countGone } from './gone.ts';
import { homeOf } from './home.ts';
import { isHtmlSql } from './html-entries.ts';
import { mergeLive } from './merge-live.ts';
import { originsOf } from './origins.ts';
import { liveCopy, makeLive } from './publish.ts';

/** A discarded snapshot is neither listed nor served, and its rows go in the background. */
async function discard(em: EntityManager, run: EndedRun): Promise<null> {
  await em.execute(`update snapshot set state = 'expired' where id = ?`, [run.snapshot_id]);
  await em.execute('update crawler_run set snapshot_id = null where id = ?', [run.id]);
  return null;
}

async function totals(
  em: EntityManager,
  snapshot_id: number,
): Promise<{ pages: number; assets: number; bytes: number }> {
  const [row] = await em.execute<{ pages: string; assets: string; bytes: string }[]>(
    `select sum(pages) as pages, sum(assets) as assets, sum(bytes) as bytes from (
       select count(*) filter (where ${isHtmlSql}) as pages,
         count(*) filter (where kind <> 'sitemap' and not (${isHtmlSql})) as assets, max(bytes) as bytes
       from snapshot_entry where snapshot_id = ? and sha256 is not null group by sha256) as content`,
    [snapshot_id],
  );
  return { pages: Number(row?.pages ?? 0), assets: Number(row?.assets ?? 0), bytes: Number(row?.bytes ?? 0) };
}

function stateOf(run: EndedRun, checks: readonly SnapshotCheck[]): SealedSnapshot['state'] {
  if (run.status !== 'completed') return 'partial';
  return checks.every(({ passed }) => passed) ? 'ready' : 'held';
}

/**
 * Seals what a run captured, in the transaction that ends the run, and publishes it when it is sound, unless a newer run is live. A
 * canceled run's snapshot is discarded, and so is an empty one of a run that did not complete.
 * @returns null when there is no snapshot
 */
export async function sealSnapshot(
  em: EntityManager,
  services: Pick<Services, 'clock' | 'settings'>,
  run: EndedRun,
): Promise<SealedSnapshot | null> {
  if (run.snapshot_id === null) return null;
  const snapshot = await em.findOneOrFail(CrawlSnapshot, { id: run.snapshot_id }, { refresh: true });
  if (snapshot.state !== 'building') throw new Error(`snapshot ${snapshot.id} is sealed already`);
  if (run.status === 'canceled') return discard(em, run);
  const live = await liveCopy(em, run.crawler_id);
  const published = live && (await em.findOneOrFail(CrawlSnapshot, { id: live.snapshot_id }, { refresh: true }));
  const isSameHost = published?.host === snapshot.host;
  if (run.mode === 'partial' && published && isSameHost && run.status === 'completed')
    await mergeLive(em, run.id, snapshot.id, published.id);
  const found = await totals(em, snapshot.id);
  if (run.status !== 'completed' && found.pages + found.assets === 0) return discard(em, run);
  const now = services.clock.now();
  const home = homeOf(run, services.settings.crawl.strip_params);
  const goneFrom = (before: number) => countGone(em, { before, after: snapshot.id });
  const compared = published && isSameHost && run.mode !== 'partial' ? published : null;
  const gone = compared && (await goneFrom(compared.id));
  const was = compared && gone && { pages: compared.pages, lost: gone.pages };
  const checks = await checkSnapshot(em, run, snapshot.id, { home, pages: found.pages, live: was });
  const state = stateOf(run, checks);
  const before = run.status === 'completed' ? snapshot.base_id : null;
  const removed = before == null ? 0 : (before === compared?.id && gone ? gone : await goneFrom(before)).captured;
  const origins = {
    home: home ?? `${snapshot.origin}/`,
    ...(await originsOf(em, snapshot, run.settings.allowed_domains)),
  };
  em.assign(snapshot, { state, checks, origins, ...found, sealed_at: now });
  await em.flush();
  const isPublished = state === 'ready' && run.settings.publish.auto && (live === null || live.run_id < run.id);
  if (isPublished) await makeLive(em, run.crawler_id, snapshot.id, now);
  const collisions = await collisionsIn(em, snapshot.id, origins.tree);
  return { id: snapshot.id, state, published: isPublished, checks, removed, collisions };
}
