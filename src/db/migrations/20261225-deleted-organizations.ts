import { Migration } from '@mikro-orm/migrations';

/** Organisations are deleted as projects are: their rows stay until their data is purged, and their names are free at once. */
export class DeletedOrganizations extends Migration {
  override name = '20261225-deleted-organizations';

  override up(): void {
    this.addSql('alter table organization add deleted_at timestamptz(3)');
    this.addSql('alter table organization drop constraint organization_machine_name_key');
    this.addSql(
      'create unique index organization_machine_name on organization (machine_name) where deleted_at is null',
    );
  }
}
