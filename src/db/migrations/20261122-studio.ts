import { Migration } from '@mikro-orm/migrations';

/** What projects decide about their repositories, and pull requests. */
export class Studio extends Migration {
  override name = '20261122-studio';

  override up(): void {
    this.addSql('alter table project add column settings json');
    this.addSql(`
      create table pull (
        id serial primary key,
        project_id integer not null references project on delete cascade,
        number integer not null,
        title text not null,
        body text not null,
        state text not null check (state in ('open', 'closed', 'merged')),
        draft boolean not null,
        head_branch text not null,
        base_branch text not null,
        head_sha text not null,
        base_sha text not null,
        author_id text not null,
        author_name text not null,
        merge_commit_sha text,
        merging_at timestamptz(3),
        version integer not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        merged_at timestamptz(3),
        closed_at timestamptz(3),
        unique (project_id, number)
      )`);
    this.addSql(
      "create unique index pull_open_pair on pull (project_id, head_branch, base_branch) where state = 'open'",
    );
    this.addSql('create index pull_state on pull (project_id, state, number desc)');
  }
}
