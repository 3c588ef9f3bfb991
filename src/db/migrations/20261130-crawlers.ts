import { Migration } from '@mikro-orm/migrations';

/**
 * Crawlers, their schedules, runs, frontiers and snapshots. What callers and peers write is `json`, never `jsonb`, which refuses NUL
 * escapes and lone surrogates.
 */
export class Crawlers extends Migration {
  override name = '20261130-crawlers';

  override up(): void {
    this.addSql(`
      create table crawler (
        id serial primary key,
        uuid uuid not null unique,
        project_id integer not null references project on delete cascade,
        name text not null,
        domain text not null,
        host text not null,
        settings json not null,
        secrets text,
        webhook_secret text,
        version integer not null default 1,
        verification_checks json,
        published_snapshot_id integer,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        deleted_at timestamptz(3)
      )`);
    this.addSql('create index on crawler (project_id, id)');
    this.addSql(`
      create table domain_verification (
        id serial primary key,
        organization_id integer not null references organization on delete cascade,
        host text not null,
        state text not null check (state in ('pending', 'verified', 'failed', 'lost')),
        method text check (method in ('dns', 'file', 'meta')),
        proved text,
        checks json not null,
        checked_at timestamptz(3),
        verified_at timestamptz(3),
        absent_since timestamptz(3),
        unique (organization_id, host)
      )`);
    this.addSql(`
      create table verification_token (
        organization_id integer not null references organization on delete cascade,
        domain text not null,
        token text not null,
        primary key (organization_id, domain)
      )`);
    this.addSql(`
      create table crawler_schedule (
        id serial primary key,
        crawler_id integer not null references crawler on delete cascade,
        name text not null,
        schedule_cron_string text not null,
        timezone text not null,
        enabled boolean not null,
        next_fire_at timestamptz(3),
        last_run_id integer,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      )`);
    this.addSql('create index on crawler_schedule (crawler_id)');
    this.addSql('create index on crawler_schedule (next_fire_at) where enabled');
    this.addSql(`
      create table schedule_fire (
        id bigserial primary key,
        source text not null check (source in ('crawler', 'workflow')),
        source_id text not null,
        fire_at timestamptz(3) not null,
        outcome text not null check (outcome in ('started', 'skipped_overlap', 'missed')),
        started_id text,
        missed integer not null default 0,
        created_at timestamptz(3) not null,
        unique (source, source_id, fire_at)
      )`);
    this.addSql(`
      create table crawler_run (
        id serial primary key,
        crawler_id integer not null references crawler on delete cascade,
        project_id integer not null,
        status text not null check (status in
          ('queued', 'provisioning', 'running', 'completed', 'stopped', 'canceled', 'failed')),
        epoch integer not null default 0,
        task_id uuid not null,
        settings json not null,
        secrets text,
        secrets_version integer not null,
        urls json,
        mode text not null check (mode in ('full', 'list', 'partial')),
        origin text,
        hosts json,
        trigger text not null check (trigger in ('manual', 'api', 'schedule', 'workflow')),
        schedule_id integer,
        fire_at timestamptz(3),
        stop_requested text check (stop_requested in ('stop', 'cancel')),
        finish_reason text,
        finish_message text,
        snapshot_id integer,
        counts json not null,
        hits_reserved integer not null default 0,
        rate real not null default 0,
        recent json,
        takeovers integer not null default 0,
        heartbeat_at timestamptz(3),
        progress_at timestamptz(3),
        started_at timestamptz(3),
        completed_at timestamptz(3),
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      )`);
    this.addSql('create index on crawler_run (crawler_id, id)');
    this.addSql(`create index on crawler_run (status) where status in ('queued', 'provisioning', 'running')`);
    this.addSql(`
      create unique index crawler_run_active on crawler_run (crawler_id) where status in ('provisioning', 'running')`);
    this.addSql(`
      create table crawl_url (
        run_id integer not null references crawler_run on delete cascade,
        id bigserial,
        url_hash bytea not null,
        url text not null,
        host text not null,
        kind text not null check (kind in ('page', 'asset', 'sitemap')),
        is_entry boolean not null default false,
        follows boolean not null default true,
        depth integer not null,
        priority integer not null,
        hop integer not null default 0,
        level integer not null default 0,
        state text not null check (state in ('pending', 'leased', 'done', 'error', 'skipped')),
        attempts integer not null default 0,
        not_before timestamptz(3),
        parent_id bigint,
        rule text,
        http_status integer,
        content_type text,
        bytes bigint,
        sha256 text,
        redirect_to text,
        canonical text,
        error text,
        error_message text,
        change text check (change in ('new', 'changed', 'unchanged_304', 'unchanged_hash')),
        from_cache boolean not null default false,
        fetched_at timestamptz(3),
        duration_ms integer,
        primary key (run_id, id),
        unique (run_id, url_hash)
      )`);
    this.addSql(
      `create index crawl_url_pending on crawl_url (run_id, host, depth, priority, id) where state = 'pending'`,
    );
    this.addSql(`create index crawl_url_leased on crawl_url (run_id) where state = 'leased'`);
    this.addSql(`
      create table crawl_link (
        run_id integer not null references crawler_run on delete cascade,
        from_id bigint not null,
        to_keys bigint[] not null,
        primary key (run_id, from_id)
      )`);
    this.addSql(`
      create table crawl_host (
        project_id integer not null references project on delete cascade,
        host text not null,
        next_at timestamptz(3),
        delay real not null default 0,
        paused_until timestamptz(3),
        failures integer not null default 0,
        pauses integer not null default 0,
        good integer not null default 0,
        robots text,
        robots_outcome text,
        robots_fetched_at timestamptz(3),
        primary key (project_id, host)
      )`);
    this.addSql(`
      create table snapshot (
        id serial primary key,
        crawler_id integer not null references crawler on delete cascade,
        run_id integer not null,
        state text not null check (state in ('building', 'ready', 'held', 'partial', 'expired')),
        host text not null,
        origin text not null,
        origins json,
        base_id integer,
        pinned boolean not null default false,
        note text,
        checks json,
        pages integer not null default 0,
        assets integer not null default 0,
        bytes bigint not null default 0,
        sealed_at timestamptz(3),
        published_at timestamptz(3),
        created_at timestamptz(3) not null
      )`);
    this.addSql('create index on snapshot (crawler_id, id)');
    this.addSql(`
      create table snapshot_entry (
        snapshot_id integer not null references snapshot on delete cascade,
        url_hash bytea not null,
        url text not null,
        kind text not null check (kind in ('page', 'asset', 'sitemap')),
        http_status integer not null,
        content_type text,
        charset text,
        headers json,
        sha256 text,
        bytes bigint not null default 0,
        redirect_to text,
        etag text,
        last_modified text,
        outlinks_sha256 text,
        request_hash text,
        first_seen_run integer not null,
        fetched_at timestamptz(3) not null,
        primary key (snapshot_id, url_hash)
      )`);
    this.addSql('create index on snapshot_entry (sha256)');
    this.addSql('create index on snapshot_entry (outlinks_sha256) where outlinks_sha256 is not null');
    this.addSql(`
      create trigger previews_changed after delete or update of published_snapshot_id, deleted_at on crawler
        for each statement execute function previews_changed()`);
    this.addSql(`
      create trigger previews_changed after delete or update of state on snapshot
        for each statement execute function previews_changed()`);
    this.addSql(`
      create table snapshot_import (
        id serial primary key,
        snapshot_id integer not null references snapshot on delete cascade,
        crawler_id integer not null,
        state text not null check (state in ('queued', 'running', 'completed', 'failed')),
        request json not null,
        actor json not null,
        commit_sha text,
        added integer not null default 0,
        changed integer not null default 0,
        removed integer not null default 0,
        skipped json not null,
        error text,
        created_at timestamptz(3) not null,
        completed_at timestamptz(3)
      )`);
    this.addSql(`
      create table notification (
        id serial primary key,
        event_id text not null unique,
        crawler_id integer not null references crawler on delete cascade,
        type text not null,
        payload text not null,
        status text not null check (status in ('pending', 'delivered', 'failed', 'dropped')),
        tries integer not null default 0,
        next_attempt_at timestamptz(3),
        leased_until timestamptz(3),
        created_at timestamptz(3) not null
      )`);
    this.addSql('create index on notification (crawler_id, id)');
    this.addSql('create index on notification (created_at)');
    this.addSql(`create index on notification (next_attempt_at) where status = 'pending'`);
    this.addSql(`
      create table notification_attempt (
        id bigserial primary key,
        notification_id integer not null references notification on delete cascade,
        at timestamptz(3) not null,
        duration_ms integer not null,
        status integer,
        error text,
        answer text
      )`);
    this.addSql('create index on notification_attempt (notification_id)');
  }
}
