import { Migration } from '@mikro-orm/migrations';

/** Repositories elsewhere that projects mirror, and how far each branch is in step. */
export class Upstream extends Migration {
  override name = '20261124-upstream';

  override up(): void {
    this.addSql(`
      create table upstream (
        project_id integer primary key references project on delete cascade,
        url text not null,
        auth_kind text not null check (auth_kind in ('none', 'token', 'basic', 'ssh_key')),
        credentials text,
        hook_secret text not null,
        version integer not null,
        push text not null check (push in ('on_commit', 'manual')),
        fetched_at timestamptz(3),
        fetch_error text,
        lease_id uuid,
        lease_until timestamptz(3),
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      )`);
    this.addSql(`
      create table upstream_branch (
        project_id integer not null references upstream on delete cascade,
        name text not null,
        synced_sha text,
        pushed_at timestamptz(3),
        problem text check (problem in ('diverged', 'refused', 'failed')),
        message text,
        primary key (project_id, name)
      )`);
  }
}
