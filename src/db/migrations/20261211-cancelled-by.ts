import { Migration } from '@mikro-orm/migrations';

/** The log of an execution names who has cancelled it. */
export class CancelledBy extends Migration {
  override name = '20261211-cancelled-by';

  override up(): void {
    this.addSql('alter table execution add column cancelled_by text');
  }
}
