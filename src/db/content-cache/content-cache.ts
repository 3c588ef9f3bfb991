import type { MikroORM } from '@mikro-orm/postgresql';
import type { ContentCache } from '../../domain/ports/content-cache.ts';
import type { Log } from '../../domain/ports/log.ts';
import { blobRows } from './blob-rows.ts';
import { CacheConnection } from './cache-connection.ts';
import { expiredRows } from './expired-rows.ts';
import { lastCommitRows } from './last-commit-rows.ts';
import { schemaRows } from './schema-rows.ts';

/** Keeps what is derived from content in PostgreSQL. */
export function createContentCache(orm: MikroORM, log: Log): ContentCache {
  const connection = new CacheConnection(orm, log);
  return {
    ...blobRows(connection),
    ...schemaRows(connection),
    ...expiredRows(connection),
    ...lastCommitRows(connection),
  };
}
