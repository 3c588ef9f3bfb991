import { Migration } from '@mikro-orm/migrations';

/** Failed executions that are not acknowledged are found without reading all the others. */
export class DeadLetters extends Migration {
  override name = '20261202-dead-letters';

  override up(): void {
    this.addSql(`
      create index execution_dead on execution (project_id, finished_at)
        where status = 'failed' and acknowledged_at is null`);
  }
}
