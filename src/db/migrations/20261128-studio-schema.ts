import { Migration } from '@mikro-orm/migrations';

/** The schemas that sites were found to have. All of it can be lost: it is made again from the repositories. */
export class StudioSchema extends Migration {
  override name = '20261128-studio-schema';

  override up(): void {
    this.addSql(`
      create table studio_schema (
        project_uuid uuid not null references project (uuid) on delete cascade,
        key bytea not null,
        variant bytea not null,
        number integer generated always as identity,
        discovery json not null,
        stored_at timestamptz(3) not null default now(),
        primary key (project_uuid, key, variant)
      )`);
  }
}
