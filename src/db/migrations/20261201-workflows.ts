import { Migration } from '@mikro-orm/migrations';

/**
 * Workflows, what starts them and what became of it. What callers and peers write is `json` or bytes, never `jsonb`, which refuses NUL
 * escapes and lone surrogates and loses the order of keys.
 */
export class Workflows extends Migration {
  override name = '20261201-workflows';

  override up(): void {
    this.addSql(`
      create table workflow (
        id uuid primary key,
        project_id integer not null references project on delete cascade,
        name text not null,
        description text,
        enabled boolean not null,
        version integer not null,
        latest_version integer not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        deleted_at timestamptz(3)
      )`);
    this.addSql('create index on workflow (project_id, created_at)');
    this.addSql(`
      create table workflow_version (
        workflow_id uuid not null references workflow on delete cascade,
        number integer not null,
        source text not null,
        definition json not null,
        permissions json not null,
        created_by text not null,
        created_at timestamptz(3) not null,
        primary key (workflow_id, number)
      )`);
    this.addSql(`
      create table workflow_secret (
        workflow_id uuid not null references workflow on delete cascade,
        name text not null,
        version integer not null,
        ciphertext text not null,
        updated_at timestamptz(3) not null,
        primary key (workflow_id, name)
      )`);
    this.addSql(`
      create table workflow_trigger (
        id uuid primary key,
        workflow_id uuid not null references workflow on delete cascade,
        type text not null check (type in ('webhook', 'cron')),
        enabled boolean not null,
        auth_mode text check (auth_mode in ('secret', 'hmac')),
        methods json,
        rate_limit integer,
        secret text,
        secret_version integer not null default 0,
        previous_secret text,
        previous_secret_version integer,
        previous_secret_expires_at timestamptz(3),
        previous_secret_last_used_at timestamptz(3),
        schedule_cron_string text,
        timezone text,
        next_fire_at timestamptz(3),
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        deleted_at timestamptz(3)
      )`);
    this.addSql('create index on workflow_trigger (workflow_id)');
    this.addSql(`
      create unique index workflow_trigger_webhook on workflow_trigger (workflow_id)
        where type = 'webhook' and deleted_at is null`);
    this.addSql(
      `create index on workflow_trigger (next_fire_at) where enabled and type = 'cron' and deleted_at is null`,
    );
    this.addSql(`
      create function workflow_trigger_changed() returns trigger language plpgsql as $$
      begin
        perform pg_notify('portico_workflow_triggers', coalesce(new.workflow_id, old.workflow_id)::text);
        return null;
      end $$`);
    this.addSql(`
      create trigger workflow_trigger_changed after insert or delete or update of
        enabled, auth_mode, methods, rate_limit, secret, secret_version, previous_secret, previous_secret_expires_at, deleted_at
        on workflow_trigger for each row execute function workflow_trigger_changed()`);
    this.addSql(`
      create function workflow_door_changed() returns trigger language plpgsql as $$
      begin perform pg_notify('portico_workflow_triggers', new.id::text); return null; end $$`);
    this.addSql(`
      create trigger workflow_door_changed after update of enabled, deleted_at on workflow
        for each row execute function workflow_door_changed()`);
    this.addSql(`
      create table workflow_refusal (
        trigger_id uuid primary key references workflow_trigger on delete cascade,
        counts json not null,
        latest json not null
      )`);
    this.addSql(`
      create table execution (
        id uuid primary key,
        project_id integer not null,
        workflow_id uuid not null references workflow on delete cascade,
        version integer not null,
        status text not null check (status in ('pending', 'running', 'paused', 'completed', 'failed', 'cancelled')),
        outcome text,
        trigger_id uuid,
        trigger_type text not null check (trigger_type in ('webhook', 'cron', 'manual')),
        started_by text,
        delivery_id uuid,
        replay_of uuid,
        retry_of uuid,
        input json,
        output json,
        output_sha256 text,
        error json,
        attempt integer not null default 0,
        crashes integer not null default 0,
        driver_id uuid,
        driver_until timestamptz(3),
        wake boolean not null default false,
        cancel_requested boolean not null default false,
        cancel_reason text,
        waiting_until timestamptz(3),
        slot_key text,
        has_slot boolean not null default false,
        state json,
        acknowledged_at timestamptz(3),
        created_at timestamptz(3) not null,
        started_at timestamptz(3),
        finished_at timestamptz(3)
      )`);
    this.addSql('create index on execution (workflow_id, created_at)');
    this.addSql(`
      create index execution_open on execution (project_id, workflow_id, slot_key, created_at)
        where status in ('pending', 'running', 'paused')`);
    this.addSql('create index on execution (waiting_until) where waiting_until is not null');
    this.addSql('create index on execution (driver_id) where driver_id is not null');
    this.addSql('create index on execution (finished_at) where finished_at is not null');
    this.addSql(`
      create table step_run (
        execution_id uuid not null references execution on delete cascade,
        path text not null,
        position integer not null,
        step_id text not null,
        type text not null,
        status text not null check (status in
          ('pending', 'running', 'waiting', 'completed', 'failed', 'skipped', 'cancelled')),
        tries integer not null default 0,
        input json,
        output json,
        output_sha256 text,
        error json,
        waits_for json,
        started_at timestamptz(3),
        finished_at timestamptz(3),
        next_try_at timestamptz(3),
        primary key (execution_id, path)
      )`);
    this.addSql(
      `create index step_run_awaited on step_run (execution_id) where status = 'waiting' and waits_for is not null`,
    );
    this.addSql('create index on step_run (output_sha256) where output_sha256 is not null');
    this.addSql('create index on execution (output_sha256) where output_sha256 is not null');
    this.addSql(`
      create table delivery (
        id uuid primary key,
        trigger_id uuid not null references workflow_trigger on delete cascade,
        execution_id uuid,
        outcome text not null check (outcome in ('accepted', 'duplicate', 'redelivery')),
        method text not null,
        headers json not null,
        query json not null,
        body bytea,
        body_sha256 text,
        raw_size integer not null,
        raw_sha256 text not null,
        dedup_key text,
        body_differs boolean not null default false,
        auth_mode text not null,
        secret_version integer not null,
        received_at timestamptz(3) not null
      )`);
    this.addSql('create index on delivery (trigger_id, id)');
    this.addSql('create index on delivery (received_at)');
    this.addSql('create index on delivery (body_sha256) where body_sha256 is not null');
    this.addSql(`
      create table delivery_key (
        trigger_id uuid not null references workflow_trigger on delete cascade,
        key text not null,
        execution_id uuid not null,
        replaces uuid,
        raw_sha256 text not null,
        expires_at timestamptz(3) not null,
        primary key (trigger_id, key)
      )`);
    this.addSql('create index on delivery_key (expires_at)');
    this.addSql(`
      create table slot (
        workflow_id uuid not null references workflow on delete cascade,
        key text not null,
        most integer not null,
        primary key (workflow_id, key)
      )`);
    this.addSql(`
      create table effect (
        key text primary key,
        execution_id uuid not null references execution on delete cascade,
        state text not null check (state in ('started', 'done')),
        result json,
        created_at timestamptz(3) not null
      )`);
    this.addSql('create index on effect (execution_id)');
  }
}
