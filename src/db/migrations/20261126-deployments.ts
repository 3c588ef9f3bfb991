import { Migration } from '@mikro-orm/migrations';

const state = `
        status text not null check (status in ('queued', 'in_progress', 'completed')),
        conclusion text check (conclusion in ('success', 'failure', 'cancelled', 'skipped'))`;
const concluded = `check ((status = 'completed') = (conclusion is not null))`;

/** Where branches are published, the attempts at it, and what those said. */
export class Deployments extends Migration {
  override name = '20261126-deployments';

  override up(): void {
    this.addSql(`
      create table environment (
        id serial primary key,
        uuid uuid not null unique,
        project_id integer not null references project on delete cascade,
        name text not null,
        slug text not null,
        branch text not null,
        type text not null check (type in ('production', 'preview')),
        provider text not null check (provider in ('build', 'static', 'webhook')),
        root_directory text not null,
        install_command text,
        build_command text,
        output_directory text not null,
        variables json not null,
        network text not null check (network in ('full', 'install', 'none')),
        timeout_seconds integer not null,
        auto_deploy boolean not null,
        cancel_superseded boolean not null,
        visibility text not null check (visibility in ('public', 'members')),
        protected boolean not null,
        url text,
        deploy_webhook_url text,
        deploy_hook_secret text,
        followed_sha text,
        published_deployment_id integer,
        version integer not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        unique (project_id, name),
        unique (project_id, slug)
      )`);
    this.addSql(`
      create table deployment (
        id serial primary key,
        project_id integer not null references project on delete cascade,
        environment_id integer not null references environment on delete cascade,
        run_number integer not null,
        branch text not null,
        commit_sha text not null,
        title text not null,
        ${state},
        failure_reason text,
        trigger text not null check (trigger in ('commit', 'merge', 'manual', 'rerun', 'push', 'provider')),
        attempt integer not null,
        settings json not null,
        isolation text,
        manifest_sha256 text,
        output_digest text,
        url text,
        log_url text,
        cancel_requested boolean not null default false,
        worker json,
        heartbeat_at timestamptz(3),
        report_token_hash text unique,
        created_at timestamptz(3) not null,
        started_at timestamptz(3),
        completed_at timestamptz(3),
        unique (project_id, run_number),
        ${concluded}
      )`);
    this.addSql(`create index on deployment (environment_id, id desc)`);
    this.addSql(`create index on deployment (status, project_id) where status <> 'completed'`);
    this.addSql(`create index on deployment (manifest_sha256) where manifest_sha256 is not null`);
    // Rows are never moved from one environment to another, so a plain reference is enough.
    this.addSql(`
      alter table environment add foreign key (published_deployment_id) references deployment on delete set null`);
    this.addSql(`
      create table deployment_job (
        id serial primary key,
        deployment_id integer not null references deployment on delete cascade,
        name text not null,
        position integer not null,
        ${state},
        steps json not null,
        log_url text,
        log_size bigint not null default 0,
        started_at timestamptz(3),
        completed_at timestamptz(3),
        unique (deployment_id, position),
        ${concluded}
      )`);
    this.addSql(`
      create table deployment_log (
        job_id integer not null references deployment_job on delete cascade,
        start bigint not null,
        size integer not null,
        content bytea not null,
        primary key (job_id, start)
      )`);
    // Subscribers to a deployment are notified in any process, exactly when the change can be read.
    this.addSql(`
      create function deployment_changed() returns trigger language plpgsql as $$
      begin
        perform pg_notify('portico_deployment', json_build_object('deployment', new.id, 'environment', new.environment_id)::text);
        return null;
      end $$`);
    this.addSql(`
      create function deployment_job_changed() returns trigger language plpgsql as $$
      begin
        perform pg_notify('portico_deployment', json_build_object('deployment', deployment_id, 'environment', environment_id,
          'job', new.id, 'log_size', new.log_size)::text)
        from deployment, (select new.deployment_id) as of_job where deployment.id = of_job.deployment_id;
        return null;
      end $$`);
    this.addSql(`
      create trigger changed after insert or update of status, conclusion, url, log_url on deployment
      for each row execute function deployment_changed()`);
    this.addSql(`
      create trigger changed after update of status, steps, log_size on deployment_job
      for each row execute function deployment_job_changed()`);
  }
}
