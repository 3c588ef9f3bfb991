import { Migration } from '@mikro-orm/migrations';

/** The path that the pages of a deployment take themselves to lie below. */
export class PreviewBase extends Migration {
  override name = '20261230-preview-base';

  override up(): void {
    this.addSql(`alter table deployment add column base_path text not null default ''`);
  }
}
