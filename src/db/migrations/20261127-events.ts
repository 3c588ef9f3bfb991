import { Migration } from '@mikro-orm/migrations';

/** What is watched live: the last state of each subject, and the events that led to it, for a while. */
export class Events extends Migration {
  override name = '20261127-events';

  override up(): void {
    this.addSql(`
      create table event_subject (
        project_id integer not null references project on delete cascade,
        topic text not null,
        seq bigint not null default 0,
        last json,
        at timestamptz(3) not null,
        primary key (project_id, topic)
      )`);
    this.addSql(`
      create table event (
        project_id integer not null,
        topic text not null,
        seq bigint not null,
        at timestamptz(3) not null,
        data json not null,
        primary key (project_id, topic, seq),
        foreign key (project_id, topic) references event_subject on delete cascade
      )`);
    this.addSql('create index on event (at)');
  }
}
