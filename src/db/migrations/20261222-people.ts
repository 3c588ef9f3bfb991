import { Migration } from '@mikro-orm/migrations';

/** People: accounts, their places in organisations, sessions, links good for one use, and what bounds guessing. */
export class People extends Migration {
  override name = '20261222-people';

  override up(): void {
    this.addSql(`
      create table "user" (
        id serial primary key,
        email text not null unique check (email = lower(email)),
        name text not null,
        password text,
        instance_admin boolean not null,
        preferences jsonb not null default '{}',
        created_at timestamptz(3) not null,
        disabled_at timestamptz(3)
      )`);
    this.addSql(`
      create table user_identity (
        id serial primary key,
        user_id integer not null references "user" (id) on delete cascade,
        issuer text not null,
        subject text not null,
        linked_at timestamptz(3) not null,
        unique (issuer, subject)
      )`);
    this.addSql('create index user_identity_user on user_identity (user_id)');
    this.addSql(`
      create table member (
        id serial primary key,
        organization_id integer not null references organization (id) on delete cascade,
        user_id integer not null references "user" (id) on delete cascade,
        role text not null check (role in ('owner', 'admin', 'editor', 'readonly')),
        permissions jsonb not null,
        projects jsonb,
        created_at timestamptz(3) not null,
        joined_at timestamptz(3),
        unique (organization_id, user_id)
      )`);
    this.addSql('create index member_user on member (user_id)');
    this.addSql(`
      create table user_session (
        id serial primary key,
        user_id integer not null references "user" (id) on delete cascade,
        hash text not null unique,
        created_at timestamptz(3) not null,
        last_used timestamptz(3) not null,
        proved_at timestamptz(3) not null,
        address text,
        browser text
      )`);
    this.addSql('create index user_session_user on user_session (user_id)');
    this.addSql(`
      create table one_time_link (
        id serial primary key,
        kind text not null check (kind in ('setup', 'join', 'reset')),
        hash text not null unique,
        user_id integer references "user" (id) on delete cascade,
        member_id integer references member (id) on delete cascade,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null
      )`);
    this.addSql(`
      create table sign_in_throttle (
        key text primary key,
        failures integer not null,
        since timestamptz(3) not null,
        blocked_until timestamptz(3),
        block_seconds integer not null
      )`);
  }
}
