import { Migration } from '@mikro-orm/migrations';

/**
 * Indexes that cost every captured URL more than they are worth. A sweep of contents reads the names that begin with two digits, and
 * for those two the entries of many snapshots lie together, where whole names are spread over an index as large as the table. What was leased
 * is read when a crawl loop begins, which counts the run's rows anyway.
 */
export class CrawlIndexes extends Migration {
  override name = '20261209-crawl-indexes';

  override up(): void {
    this.addSql('drop index crawl_url_leased');
    for (const column of ['sha256', 'outlinks_sha256']) {
      this.addSql(`drop index snapshot_entry_${column}_idx`);
      this.addSql(
        `create index snapshot_entry_${column}_start on snapshot_entry (left(${column}, 2)) where ${column} is not null`,
      );
    }
  }
}
