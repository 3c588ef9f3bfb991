import type { EntityManager } from '@mikro-orm/postgresql';
import { isHtmlSql } from './html-entries.ts';

/** Captured URLs of one snapshot that another one lacks: HTML pages that are none there, and contents of any kind. */
export interface Gone {
  pages: number;
  captured: number;
}

const goneSql = `
  select count(*) filter (where was_page and not is_page)::integer as pages,
    count(*) filter (where was_captured and not is_captured)::integer as captured
  from (
    select bool_or(snapshot_id = before and is_html) as was_page, bool_or(snapshot_id = after and is_html) as is_page,
      bool_or(snapshot_id = before) as was_captured, bool_or(snapshot_id = after) as is_captured
    from (
      select url_hash, snapshot_id, ${isHtmlSql} as is_html from snapshot_entry
      where snapshot_id in (?, ?) and sha256 is not null) as entry,
      (select ?::integer as before, ?::integer as after) as compared
    group by url_hash) as url`;

/**
 * Counts what has gone from one snapshot to another. Each side is read once, whatever the database knows of them: of a snapshot that has just
 * been written its statistics say that it is empty, and a join planned by them would read all of one side for every row of the other.
 */
export async function countGone(
  em: EntityManager,
  { before, after }: { before: number; after: number },
): Promise<Gone> {
  const [row] = await em.execute<Gone[]>(goneSql, [before, after, before, after]);
  return row ?? { pages: 0, captured: 0 };
}
