import type { ContentCache } from '../../domain/ports/content-cache.ts';
import { bytesOf } from './blob-rows.ts';
import type { CacheConnection } from './cache-connection.ts';

/** Of one configuration so many variants are looked at. */
const mostVariants = 8;
/** Of a project so many rows are kept, the newest. */
const mostRows = 64;

const readSql = `
  select encode(key, 'hex') as key, encode(variant, 'hex') as variant, discovery::text as text
  from studio_schema where project_uuid = $1 and key = any($2::bytea[])
  order by number desc limit ${mostVariants}`;

const storeSql = `
  insert into studio_schema (project_uuid, key, variant, discovery) values ($1, $2, $3, $4::json)
  on conflict (project_uuid, key, variant) do update set discovery = excluded.discovery, number = default, stored_at = now()`;

const boundSql = `
  delete from studio_schema where project_uuid = $1 and number <= (
    select number from studio_schema where project_uuid = $1 order by number desc offset ${mostRows} limit 1
  )`;

/** The table `studio_schema`. */
export function schemaRows(connection: CacheConnection): Pick<ContentCache, 'schemas' | 'storeSchemas'> {
  return {
    async schemas(repository, keys) {
      const rows = await connection.ask(readSql, [repository, keys.map(bytesOf)]);
      return (
        rows?.map(({ key, variant, text }) => ({ key: String(key), variant: String(variant), text: String(text) })) ??
        null
      );
    },
    async storeSchemas(repository, { key, variant, text }) {
      const stored = await connection.change(async (query) => {
        await query(storeSql, [repository, bytesOf(key), bytesOf(variant), text]);
        await query(boundSql, [repository]);
        return true;
      });
      return stored ?? false;
    },
  };
}
