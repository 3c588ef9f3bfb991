import { Migration } from '@mikro-orm/migrations';

/** A step run remembers under which execution's key it was first tried, so that a retry can find what it did. */
export class StepKeys extends Migration {
  override name = '20261211-step-keys';

  override up(): void {
    this.addSql('alter table step_run add column tried_in uuid');
  }
}
