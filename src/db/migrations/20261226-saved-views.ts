import { Migration } from '@mikro-orm/migrations';

/** Views of collections' entries that people have saved. */
export class SavedViews extends Migration {
  override name = '20261226-saved-views';

  override up(): void {
    this.addSql(`
      create table saved_view (
        id serial primary key,
        project_id integer not null references project on delete cascade,
        owner_id text not null,
        owner_name text not null,
        collection text not null,
        name text not null,
        query jsonb not null,
        shared boolean not null,
        updated_at timestamptz(3) not null,
        unique (project_id, owner_id, collection, name)
      )`);
  }
}
