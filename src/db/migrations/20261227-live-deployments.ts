import { Migration } from '@mikro-orm/migrations';

/** What an environment shows is part of its deployments' versions, so that it is announced when another one is made live, or none. */
export class LiveDeployments extends Migration {
  override name = '20261227-live-deployments';

  override up(): void {
    this.addSql(`
      create or replace function deployment_version(of integer) returns text language sql stable as $$
        select md5(concat_ws(' ', attempt, status, conclusion, url, log_url,
          (select published_deployment_id = of from environment where id = environment_id),
          (select string_agg(concat_ws(' ', id, status, conclusion, steps), ' ' order by id)
           from deployment_job where deployment_id = of)))
        from deployment where id = of
      $$`);
    this.addSql(`
      create function environment_shows_another() returns trigger language plpgsql as $$
      begin
        perform announce_deployment(old.published_deployment_id);
        perform announce_deployment(new.published_deployment_id);
        return null;
      end $$`);
    this.addSql(`
      create trigger shows_another after update of published_deployment_id on environment for each row
        when (old.published_deployment_id is distinct from new.published_deployment_id)
        execute function environment_shows_another()`);
  }
}
