import { Migration } from '@mikro-orm/migrations';

/** Which process has an import: one that was given up as dead changes nothing of it. */
export class ImportAttempts extends Migration {
  override name = '20261208-import-attempts';

  override up(): void {
    this.addSql('alter table snapshot_import add column attempt integer not null default 0');
    this.addSql(`update snapshot_import set attempt = 1 where state <> 'queued'`);
  }
}
