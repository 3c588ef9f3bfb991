import { Migration } from '@mikro-orm/migrations';

/**
 * Announces changes of pull requests and deployments with what says which version they have now, exactly when it can be read: a process passes
 * them on to its subscribers without reading the rows again.
 */
export class WatchedChanges extends Migration {
  override name = '20261223-watched-changes';

  override up(): void {
    this.addSql(`
      create function announce_pull(of pull) returns void language sql as $$
        select pg_notify('portico_change', json_build_object('kind', 'pull', 'project', of.project_id, 'number', of.number,
          'version', of.version, 'state', of.state, 'head_branch', of.head_branch, 'base_branch', of.base_branch,
          'head_sha', of.head_sha, 'base_sha', of.base_sha)::text)
      $$`);
    this.addSql(`
      create function pull_changed() returns trigger language plpgsql as $$
      begin
        perform announce_pull(new);
        return null;
      end $$`);
    this.addSql(`
      create trigger changed after insert or update of version on pull for each row execute function pull_changed()`);
    this.addSql(`
      create function deployment_version(of integer) returns text language sql stable as $$
        select md5(concat_ws(' ', attempt, status, conclusion, url, log_url,
          (select string_agg(concat_ws(' ', id, status, conclusion, steps), ' ' order by id)
           from deployment_job where deployment_id = of)))
        from deployment where id = of
      $$`);
    this.addSql(`
      create function announce_deployment(of integer) returns void language sql as $$
        select pg_notify('portico_change', json_build_object('kind', 'deployment', 'project', project_id, 'id', id,
          'version', deployment_version(id))::text)
        from deployment where id = of
      $$`);
    this.addSql(`
      create or replace function deployment_changed() returns trigger language plpgsql as $$
      begin
        perform pg_notify('portico_deployment', json_build_object('deployment', new.id, 'environment', new.environment_id)::text);
        perform announce_deployment(new.id);
        return null;
      end $$`);
    // Text that its log grows by is no change of a job.
    this.addSql(`
      create or replace function deployment_job_changed() returns trigger language plpgsql as $$
      begin
        perform pg_notify('portico_deployment', json_build_object('deployment', deployment_id, 'environment', environment_id,
          'job', new.id, 'log_size', new.log_size)::text)
        from deployment, (select new.deployment_id) as of_job where deployment.id = of_job.deployment_id;
        if new.status <> old.status or new.steps::text <> old.steps::text then
          perform announce_deployment(new.deployment_id);
        end if;
        return null;
      end $$`);
  }
}
