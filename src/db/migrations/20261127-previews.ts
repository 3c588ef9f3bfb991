import { Migration } from '@mikro-orm/migrations';

/**
 * What the preview origin needs to know at once: which output an environment had before this one, and that something
 * about published outputs has changed at all.
 */
export class Previews extends Migration {
  override name = '20261127-previews';

  override up(): void {
    this.addSql(`
      create table replaced_output (
        environment_id integer primary key references environment on delete cascade,
        manifest_sha256 text not null,
        replaced_at timestamptz(3) not null
      )`);
    this.addSql(`
      create function environment_output_replaced() returns trigger language plpgsql as $$
      begin
        insert into replaced_output
          select new.id, manifest_sha256, now() from deployment
          where id = old.published_deployment_id and manifest_sha256 is not null
          on conflict (environment_id) do update
            set manifest_sha256 = excluded.manifest_sha256, replaced_at = excluded.replaced_at;
        return null;
      end $$`);
    this.addSql(`
      create trigger environment_output_replaced after update of published_deployment_id on environment for each row
        when (old.published_deployment_id is distinct from new.published_deployment_id)
        execute function environment_output_replaced()`);
    this.addSql(`
      create function previews_changed() returns trigger language plpgsql as $$
      begin perform pg_notify('portico_previews', ''); return null; end $$`);
    this.addSql(`
      create trigger previews_changed
        after insert or delete or update of slug, visibility, published_deployment_id on environment
        for each statement execute function previews_changed()`);
    this.addSql(`
      create trigger previews_changed after delete or update of manifest_sha256 on deployment
        for each statement execute function previews_changed()`);
    this.addSql(`
      create trigger previews_changed after update of deleted_at on project
        for each statement execute function previews_changed()`);
    this.addSql(`create index on environment (right(uuid::text, 8))`);
  }
}
