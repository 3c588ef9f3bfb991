import { Migration } from '@mikro-orm/migrations';

/** Organisations, projects, tokens, the audit log, data keys and idempotency keys. */
export class First extends Migration {
  override name = '20261121-first';

  override up(): void {
    this.addSql(`
      create table organization (
        id serial primary key,
        machine_name text not null unique,
        name text not null,
        type text, region text, subscription text,
        limits jsonb not null default '{}',
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      )`);
    this.addSql(`
      create table project (
        id serial primary key,
        uuid uuid not null unique,
        organization_id integer not null references organization on delete cascade,
        machine_name text not null,
        name text not null,
        region text,
        import json,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        deleted_at timestamptz(3)
      )`);
    this.addSql(
      'create unique index project_machine_name on project (organization_id, machine_name) where deleted_at is null',
    );
    this.addSql(`
      create table token (
        id serial primary key,
        organization_id integer not null references organization on delete cascade,
        name text not null,
        hash text not null unique,
        last4 text not null,
        permissions jsonb not null,
        preset text,
        projects jsonb,
        created_by text not null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        revoked_at timestamptz(3),
        last_used timestamptz(3)
      )`);
    this.addSql('create index token_organization on token (organization_id, created_at desc)');
    this.addSql(`
      create table audit (
        id uuid primary key,
        at timestamptz(3) not null,
        organization_id integer,
        project_id integer,
        actor text not null,
        address text,
        action text not null,
        subject_type text not null,
        subject_id text,
        outcome text not null,
        changes json not null,
        request_id text not null
      )`);
    this.addSql('create index audit_organization on audit (organization_id, id desc)');
    this.addSql('create index audit_at on audit (at)');
    this.addSql(`
      create function audit_append_only() returns trigger language plpgsql as $$
      begin
        if tg_op = 'DELETE' and current_setting('portico.audit_retention', true) = 'on' then return old; end if;
        raise exception 'the audit log is append-only';
      end $$`);
    this.addSql(
      'create trigger audit_append_only before update or delete on audit for each row execute function audit_append_only()',
    );
    this.addSql(`
      create table data_key (
        id uuid primary key,
        organization_id integer not null references organization on delete cascade,
        kek_id text not null,
        wrapped bytea not null,
        state text not null check (state in ('active', 'retired')),
        uses bigint not null default 0,
        created_at timestamptz(3) not null
      )`);
    this.addSql("create unique index data_key_active on data_key (organization_id) where state = 'active'");
    this.addSql(`
      create table idempotency_key (
        actor text not null,
        operation text not null,
        key text not null,
        input_hash text not null,
        output json,
        etag text,
        completed boolean not null,
        created_at timestamptz(3) not null,
        primary key (actor, operation, key)
      )`);
    this.addSql('create index idempotency_key_created on idempotency_key (created_at)');
    this.addSql('create table setting (name text primary key, value jsonb not null)');
  }
}
