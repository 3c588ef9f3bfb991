import { Migration } from '@mikro-orm/migrations';

/** Tokens that are reserved are rows: what a process that died had reserved can be given back. And a reply knows the session it was begun in. */
export class AssistantReplies extends Migration {
  override name = '20270103-assistant-replies';

  override up(): void {
    this.addSql(`
      create table assistant_reservation (
        id uuid primary key,
        organization_id integer not null references organization on delete cascade,
        month text not null,
        conversation_id uuid,
        tokens integer not null,
        question integer not null,
        expires_at timestamptz(3) not null
      )`);
    this.addSql('create index on assistant_reservation (conversation_id)');
    this.addSql('create index on assistant_reservation (expires_at)');
    this.addSql('alter table assistant_conversation add column requester text');
  }
}
