import type { EntityManager } from '@mikro-orm/postgresql';
import type { SnapshotOrigins } from '../snapshot.entity.ts';
import { type SiteAddresses, siteAddresses } from './site-addresses.ts';

/** A sealed snapshot as a site. It never changes. */
export interface SnapshotSite {
  snapshot_id: number;
  addresses: SiteAddresses;
}

/** What a label stands for, and whose it is. */
export interface CrawledTarget {
  organization_id: number;
  project_id: number;
  /** Null: nothing is published, or it is not kept any more. */
  site: SnapshotSite | null;
}

interface Row {
  organization_id: number;
  project_id: number;
  id: number | null;
  origin: string | null;
  origins: SnapshotOrigins | null;
}

const place = `
  select project.organization_id, project.id as project_id, snapshot.id, snapshot.origin, snapshot.origins
  from crawler join project on project.id = crawler.project_id and project.deleted_at is null`;

const servable = `snapshot.state in ('ready', 'held', 'partial')`;

const liveSql = `${place}
  left join snapshot on snapshot.id = crawler.published_snapshot_id and ${servable}
  where crawler.id = ? and crawler.deleted_at is null`;

const snapshotSql = `${place}
  join snapshot on snapshot.crawler_id = crawler.id and ${servable}
  where snapshot.id = ? and crawler.deleted_at is null`;

async function load(em: EntityManager, sql: string, id: number): Promise<CrawledTarget | null> {
  const [row] = await em.execute<Row[]>(sql, [id]);
  if (!row) return null;
  const { organization_id, project_id, id: snapshot_id, origin, origins } = row;
  if (snapshot_id === null || origin === null || origins === null) return { organization_id, project_id, site: null };
  return { organization_id, project_id, site: { snapshot_id, addresses: siteAddresses(origin, origins) } };
}

/** The live copy of a crawler; null when there is no such crawler. */
export const loadLiveCopy = (em: EntityManager, crawler_id: number): Promise<CrawledTarget | null> =>
  load(em, liveSql, crawler_id);

/** One snapshot; null when there is none that could be shown. */
export const loadSnapshotSite = (em: EntityManager, snapshot_id: number): Promise<CrawledTarget | null> =>
  load(em, snapshotSql, snapshot_id);
