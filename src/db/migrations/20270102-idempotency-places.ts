import { Migration } from '@mikro-orm/migrations';

/** The same key in another project is another key: a project that took the name of a deleted one gets no answers of that. */
export class IdempotencyPlaces extends Migration {
  override name = '20270102-idempotency-places';

  override up(): void {
    this.addSql(`alter table idempotency_key add column place text not null default ''`);
    this.addSql('alter table idempotency_key alter column place drop default');
    this.addSql('alter table idempotency_key drop constraint idempotency_key_pkey');
    this.addSql('alter table idempotency_key add primary key (actor, operation, place, key)');
  }
}
