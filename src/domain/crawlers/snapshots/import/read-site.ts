import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../errors.ts';
import type { SnapshotOrigins } from '../snapshot.entity.ts';
import type { CapturedFile } from './map-files.ts';

/** Files a repository may hold. */
const mostFiles = 200_000;

/** An entry of a snapshot with a content. */
export interface SiteFile extends CapturedFile {
  charset: string | null;
  /** Size of the content. */
  bytes: number;
}

/** What a snapshot has captured, hosts that win first. */
export interface CapturedSite {
  captured: SiteFile[];
  redirects: Map<string, { status: number; to: string }>;
}

interface Row {
  url: string;
  http_status: number;
  content_type: string | null;
  charset: string | null;
  sha256: string | null;
  bytes: string;
  redirect_to: string | null;
}

/** @throws DomainError `too_large` for more files than a repository may hold */
export async function readSite(
  em: EntityManager,
  { id, origins }: { id: number; origins: SnapshotOrigins },
): Promise<CapturedSite> {
  const rows = await em.execute<Row[]>(
    `select url, http_status, content_type, charset, sha256, bytes, redirect_to from snapshot_entry
     where snapshot_id = ? and (sha256 is not null or redirect_to is not null) order by url collate "C" limit ${mostFiles + 1}`,
    [id],
  );
  if (rows.length > mostFiles) throw new DomainError('too_large', `Snapshot ${id} holds more than ${mostFiles} files`);
  const order = [...origins.tree, ...origins.others];
  const ranks = new Map(order.map((origin, rank) => [origin, rank]));
  const rankOf = ({ url }: Row) => ranks.get(new URL(url).origin) ?? order.length;
  // The sort keeps the order of equals.
  const inOrder = rows.map((row) => ({ row, rank: rankOf(row) })).sort((a, b) => a.rank - b.rank);
  const site: CapturedSite = { captured: [], redirects: new Map() };
  for (const { row } of inOrder) {
    const { url, http_status, content_type, charset, sha256, bytes, redirect_to } = row;
    if (sha256 !== null) site.captured.push({ url, content_type, charset, sha256, bytes: Number(bytes) });
    else if (redirect_to !== null) site.redirects.set(url, { status: http_status, to: redirect_to });
  }
  return site;
}

const mostHops = 20;

/** Finds the file of a URL, over redirects. */
export function fileFinder(files: Map<string, string>, redirects: CapturedSite['redirects']) {
  return (url: string): string | null => {
    let next = url;
    for (let hop = 0; hop <= mostHops; hop += 1) {
      const file = files.get(next);
      if (file !== undefined) return file;
      const redirect = redirects.get(next);
      if (!redirect) return null;
      next = redirect.to;
    }
    return null;
  };
}
