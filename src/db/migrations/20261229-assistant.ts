import { Migration } from '@mikro-orm/migrations';

/** Conversations with the assistant, their messages and calls, and the tokens they use. */
export class Assistant extends Migration {
  override name = '20261229-assistant';

  override up(): void {
    this.addSql(`
      create table assistant_conversation (
        id uuid primary key,
        organization_id integer not null references organization on delete cascade,
        project_id integer not null references project on delete cascade,
        user_id integer not null references "user" on delete cascade,
        title text not null,
        branch text,
        base text,
        state text not null,
        problem text,
        tokens integer not null,
        version integer not null,
        attempt integer not null,
        holder uuid,
        lease_until timestamptz(3),
        stop_requested boolean not null,
        steps integer not null,
        active_ms integer not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      )`);
    this.addSql(`create index on assistant_conversation (project_id, user_id, updated_at desc)`);
    this.addSql(`create index on assistant_conversation (lease_until) where state <> 'idle'`);
    this.addSql(`
      create table assistant_message (
        conversation_id uuid not null references assistant_conversation on delete cascade,
        number integer not null,
        role text not null,
        text text not null,
        context jsonb,
        complete boolean not null,
        version integer not null,
        created_at timestamptz(3) not null,
        primary key (conversation_id, number)
      )`);
    this.addSql(`
      create table assistant_call (
        id uuid primary key,
        conversation_id uuid not null references assistant_conversation on delete cascade,
        message integer not null,
        place integer not null,
        reference text not null,
        tool text not null,
        arguments text not null,
        arguments_hash text not null,
        state text not null,
        result text,
        link text,
        phrase text,
        holds jsonb,
        expires_at timestamptz(3),
        decided_by text,
        decided_at timestamptz(3),
        head_before text,
        commit_sha text,
        undone_sha text,
        version integer not null,
        created_at timestamptz(3) not null
      )`);
    this.addSql(`create index on assistant_call (conversation_id, message, place)`);
    this.addSql(`
      create table assistant_usage (
        organization_id integer not null references organization on delete cascade,
        month text not null,
        tokens double precision not null,
        primary key (organization_id, month)
      )`);
  }
}
