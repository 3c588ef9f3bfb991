import { Migration } from '@mikro-orm/migrations';

/** Derived content of files that nothing holds any more. */
export class RetiredContent extends Migration {
  override name = '20261129-retired-content';

  override up(): void {
    this.addSql('alter table studio_blob add column retired_at timestamptz(3)');
    this.addSql('create index studio_blob_retired on studio_blob (retired_at) where retired_at is not null');
  }
}
