import { Migration } from '@mikro-orm/migrations';

/** Suspects act in groups, which halve when their process dies. */
export class SuspectGroups extends Migration {
  override name = '20261220-suspect-groups';

  override up(): void {
    this.addSql('alter table execution drop constraint execution_suspect_check, add column suspect_group integer');
    this.addSql(`update execution set suspect = 'acting', suspect_group = 1 where suspect = 'alone'`);
    this.addSql(
      `alter table execution add constraint execution_suspect_check check (suspect in ('waiting', 'acting'))`,
    );
  }
}
