import { Migration } from '@mikro-orm/migrations';

/** Who has a slot of a workflow, and who waits for one, is found without looking at all open executions. */
export class ExecutionQueues extends Migration {
  override name = '20261206-execution-queues';

  override up(): void {
    this.addSql(`
      create index execution_queue on execution (workflow_id, slot_key, id)
        where slot_key is not null and not has_slot and status = 'pending'`);
    this.addSql(`
      create index execution_slots on execution (workflow_id, slot_key)
        where has_slot and status in ('pending', 'running', 'paused')`);
  }
}
