import { Migration } from '@mikro-orm/migrations';

/** Links to members' previews that have been opened: each opens once, whichever server it meets. */
export class PreviewLinks extends Migration {
  override name = '20261212-preview-links';

  override up(): void {
    this.addSql('create table spent_preview_link (nonce text primary key, spent_at timestamptz(3) not null)');
    this.addSql('create index on spent_preview_link (spent_at)');
  }
}
