import { Migration } from '@mikro-orm/migrations';

/** Which commits merge without conflict. All of it can be lost: it is tried again. */
export class Mergeability extends Migration {
  override name = '20261125-mergeability';

  override up(): void {
    this.addSql(`
      create table mergeability (
        project_id integer not null references project on delete cascade,
        current_sha text not null,
        incoming_sha text not null,
        rules text not null,
        mergeable boolean not null,
        tested_at timestamptz(3) not null,
        primary key (project_id, current_sha, incoming_sha)
      )`);
    this.addSql('create index mergeability_tested_at on mergeability (tested_at)');
  }
}
