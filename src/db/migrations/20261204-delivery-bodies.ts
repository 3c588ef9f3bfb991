import { Migration } from '@mikro-orm/migrations';

/** Bodies come compressed, and a second time saves nothing. */
export class DeliveryBodies extends Migration {
  override name = '20261204-delivery-bodies';

  override up(): void {
    this.addSql('alter table delivery alter column body set storage external');
  }
}
