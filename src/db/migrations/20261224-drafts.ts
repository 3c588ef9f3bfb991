import { Migration } from '@mikro-orm/migrations';

/** Drafts: branches that were made by saving, with whose they are. */
export class Drafts extends Migration {
  override name = '20261224-drafts';

  override up(): void {
    this.addSql(`
      create table draft (
        project_id integer not null references project on delete cascade,
        branch text not null,
        owner_id text not null,
        owner_name text not null,
        base text not null,
        title text not null,
        created_at timestamptz(3) not null,
        primary key (project_id, branch)
      )`);
  }
}
