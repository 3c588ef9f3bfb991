import { Migration } from '@mikro-orm/migrations';

/** What a deployment noticed on the way. */
export class DeploymentWarnings extends Migration {
  override name = '20261201-deployment-warnings';

  override up(): void {
    this.addSql('alter table deployment add column warnings json');
  }
}
