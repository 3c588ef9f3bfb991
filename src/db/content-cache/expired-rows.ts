import type { ContentCache } from '../../domain/ports/content-cache.ts';
import { bytesOf, keysOf } from './blob-rows.ts';
import type { CacheConnection } from './cache-connection.ts';
import { digest } from './last-commit-rows.ts';

const retireSql = `
  update studio_blob blob set retired_at = now()
  from unnest($2::text[], $3::bytea[]) as given (format, oid)
  where blob.project_uuid = $1 and blob.format = given.format and blob.oid = given.oid and retired_at is null`;

/** Rows that a writer holds are about to be stored again: they are left to it. */
const removeBlobsSql = `
  delete from studio_blob where ctid = any(array(
    select ctid from studio_blob where retired_at < now() - interval '1 hour' limit $1 for update skip locked
  )) returning 1`;

const removeSchemasSql = `delete from studio_schema where stored_at < now() - interval '30 days'`;

const forgetSql = `
  delete from studio_last_commit where project_uuid = $1 and path in (
    select path from studio_last_commit where project_uuid = $1
    except select path from unnest($2::bytea[]) as held (path) limit $3
  ) returning 1`;

/** What the upkeep does with rows that nobody needs any more. */
export function expiredRows(
  connection: CacheConnection,
): Pick<ContentCache, 'retire' | 'removeExpired' | 'forgetCommits'> {
  return {
    async retire(repository, blobs) {
      const done = await connection.change((query) => query(retireSql, [repository, ...keysOf(blobs)]));
      return done !== null;
    },
    async removeExpired(limit) {
      const removed = await connection.change(async (query) => {
        await query(removeSchemasSql, []);
        return query(removeBlobsSql, [limit]);
      });
      return removed?.length ?? null;
    },
    async forgetCommits(repository, marker, held, limit) {
      const forgotten = await connection.change(async (query) => {
        const sql = 'select 1 from studio_marker where project_uuid = $1 and commit = $2 for update';
        if ((await query(sql, [repository, bytesOf(marker)])).length === 0) return [];
        return query(forgetSql, [repository, held.map(digest), limit]);
      });
      return forgotten?.length ?? null;
    },
  };
}
