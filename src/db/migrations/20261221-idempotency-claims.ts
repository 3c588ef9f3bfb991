import { Migration } from '@mikro-orm/migrations';

/** Calls that hold an idempotency key are known by a name of their own, not by the time at which they took it: clocks are set. */
export class IdempotencyClaims extends Migration {
  override name = '20261221-idempotency-claims';

  override up(): void {
    this.addSql('alter table idempotency_key add column claim uuid');
  }
}
