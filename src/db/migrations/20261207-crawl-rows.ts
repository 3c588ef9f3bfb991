import { Migration } from '@mikro-orm/migrations';

/** Tables a crawl writes a row of for each of its URLs, and whose rows they are. */
const children = [
  { table: 'crawl_url', column: 'run_id', parent: 'crawler_run' },
  { table: 'crawl_link', column: 'run_id', parent: 'crawler_run' },
  { table: 'snapshot_entry', column: 'snapshot_id', parent: 'snapshot' },
];

/**
 * Rows of runs and snapshots still go with them, without a foreign key: that looks its row up, and locks it, for each row that is written,
 * which took longer than the writing. Writers of such rows hold the run's row, so that none can come after it has gone.
 */
export class CrawlRows extends Migration {
  override name = '20261207-crawl-rows';

  override up(): void {
    this.addSql(`
      create function remove_rows_of() returns trigger language plpgsql as $$
      begin
        execute format('delete from %I where %I in (select id from gone)', tg_argv[0], tg_argv[1]);
        return null;
      end $$`);
    for (const { table, column, parent } of children) {
      this.addSql(`alter table ${table} drop constraint ${table}_${column}_fkey`);
      this.addSql(`
        create trigger ${table}_goes after delete on ${parent} referencing old table as gone
          for each statement execute function remove_rows_of('${table}', '${column}')`);
    }
  }
}
