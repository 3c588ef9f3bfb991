import { Migration } from '@mikro-orm/migrations';

/** Why the commands of a deployment were kept apart as they were. */
export class IsolationReason extends Migration {
  override name = '20261219-isolation-reason';

  override up(): void {
    this.addSql('alter table deployment add column isolation_reason text');
  }
}
