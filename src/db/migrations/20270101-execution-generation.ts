import { Migration } from '@mikro-orm/migrations';

/** How many executions have started one another down to one: workflows that start workflows come to an end. */
export class ExecutionGeneration extends Migration {
  override name = '20270101-execution-generation';

  override up(): void {
    this.addSql('alter table execution add column generation integer not null default 0');
  }
}
