import type { EntityManager } from '@mikro-orm/postgresql';
import { urlHash } from '../../frontier/url-draft.ts';
import { normalise } from '../../urls/normalise.ts';
import type { SnapshotCheck } from '../snapshot.entity.ts';
import type { EndedRun } from './ended-run.ts';

/** As many as a run follows. */
const mostHops = 20;

/** Whether a URL of a snapshot leads to a captured content, over redirects of the same snapshot. */
async function leadsToContent(em: EntityManager, snapshot_id: number, url: string): Promise<boolean> {
  let next: string | null = url;
  for (let hop = 0; hop <= mostHops && next !== null; hop += 1) {
    const rows: { sha256: string | null; redirect_to: string | null }[] = await em.execute(
      `select sha256, redirect_to from snapshot_entry where snapshot_id = ? and url_hash = decode(?, 'hex')`,
      [snapshot_id, urlHash(next).toString('hex')],
    );
    const [entry] = rows;
    if (entry?.sha256) return true;
    next = entry?.redirect_to ?? null;
  }
  return false;
}

/** The first start URL; null when a run has none, because it begins at a sitemap. */
export function homeOf({ settings, origin }: EndedRun, stripParams: readonly string[]): string | null {
  const first = settings.start_urls[0] ?? settings.urls[0];
  if (first === undefined || origin === null) return null;
  return normalise(first, origin, { origin: new URL(origin), stripParams });
}

/** Whether the first start URL has been captured. */
export async function checkHome(em: EntityManager, url: string, snapshot_id: number): Promise<SnapshotCheck> {
  const passed = await leadsToContent(em, snapshot_id, url);
  return { name: 'home', passed, detail: passed ? `${url} was captured` : `${url} was not captured` };
}
