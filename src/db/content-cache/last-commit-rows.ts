import { createHash } from 'node:crypto';
import type { CommitChanges, ContentCache } from '../../domain/ports/content-cache.ts';
import type { Oid } from '../../domain/ports/git-records.ts';
import { bytesOf } from './blob-rows.ts';
import type { CacheConnection, Query } from './cache-connection.ts';

/** Paths may be longer than an index entry: they are known by 16 bytes of their SHA-256. */
export const digest = (path: string) => createHash('sha256').update(path).digest().subarray(0, 16);
const hex = (bytes: unknown) => (bytes as Buffer).toString('hex');

const readSql = `
  select marker.commit as marker, last.path, last.commit
  from studio_marker marker
  left join studio_last_commit last on last.project_uuid = marker.project_uuid and last.path = any($2::bytea[])
  where marker.project_uuid = $1`;

const upsertSql = `
  insert into studio_last_commit (project_uuid, path, commit)
  select $1, path, commit from unnest($2::bytea[], $3::bytea[]) as last (path, commit)
  on conflict (project_uuid, path) do update set commit = excluded.commit`;

const atOnce = 5_000;

async function upsert(query: Query, repository: string, commits: readonly (readonly [string, Oid])[]): Promise<void> {
  for (let at = 0; at < commits.length; at += atOnce) {
    const slice = commits.slice(at, at + atOnce);
    await query(upsertSql, [repository, slice.map(([path]) => digest(path)), slice.map(([, oid]) => bytesOf(oid))]);
  }
}

/** Puts the marker at a commit and holds its row; false when another process has moved it from where it was. */
async function takeMarker(query: Query, repository: string, from: Oid | null, to: Oid): Promise<boolean> {
  if (from !== null) {
    const sql = 'update studio_marker set commit = $3 where project_uuid = $1 and commit = $2 returning 1';
    return (await query(sql, [repository, bytesOf(from), bytesOf(to)])).length > 0;
  }
  const sql = `insert into studio_marker (project_uuid, commit) values ($1, $2)
    on conflict (project_uuid) do update set commit = excluded.commit`;
  await query(sql, [repository, bytesOf(to)]);
  await query('delete from studio_last_commit where project_uuid = $1', [repository]);
  return true;
}

const isKnown = (change: [string, Oid | null]): change is [string, Oid] => change[1] !== null;

/** The tables `studio_marker` and `studio_last_commit`. */
export function lastCommitRows(
  connection: CacheConnection,
): Pick<ContentCache, 'lastCommits' | 'moveMarker' | 'addCommits'> {
  return {
    async lastCommits(repository, paths) {
      const digests = paths.map(digest);
      const rows = await connection.ask(readSql, [repository, digests]);
      if (!rows) return null;
      if (!rows[0]) return { marker: null, commits: new Map() };
      const found = new Map(rows.filter((row) => row.path !== null).map((row) => [hex(row.path), hex(row.commit)]));
      const known = paths.map((path, at): [string, Oid | null] => [path, found.get(hex(digests[at])) ?? null]);
      return { marker: hex(rows[0].marker), commits: new Map(known.filter(isKnown)) };
    },
    async moveMarker(repository, from, to, changes: CommitChanges) {
      const moved = await connection.change(async (query) => {
        if (!(await takeMarker(query, repository, from, to))) return false;
        const unknown = [...changes].filter((change) => !isKnown(change)).map(([path]) => digest(path));
        const sql = 'delete from studio_last_commit where project_uuid = $1 and path = any($2::bytea[])';
        if (from !== null && unknown.length > 0) await query(sql, [repository, unknown]);
        await upsert(query, repository, [...changes].filter(isKnown));
        return true;
      });
      return moved ?? false;
    },
    async addCommits(repository, marker, commits) {
      const added = await connection.change(async (query) => {
        const sql = 'select 1 from studio_marker where project_uuid = $1 and commit = $2 for share';
        if ((await query(sql, [repository, bytesOf(marker)])).length === 0) return false;
        await upsert(query, repository, [...commits]);
        return true;
      });
      return added ?? false;
    },
  };
}
