import { Migration } from '@mikro-orm/migrations';

/**
 * Processes that execute workflows show that they live in one row each, no longer in every execution they advance. What was acting in one
 * that dies is under suspicion until it has passed a checkpoint.
 */
export class Workers extends Migration {
  override name = '20261211-workers';

  override up(): void {
    this.addSql(`
      create table worker (
        id uuid primary key,
        host text not null,
        pid integer not null,
        started_at timestamptz(3) not null,
        alive_until timestamptz(3) not null,
        steady_since timestamptz(3) not null,
        lost_at timestamptz(3),
        lost_reason text,
        acting uuid[]
      )`);
    this.addSql(
      `alter table execution drop column driver_until, add column suspect text check (suspect in ('waiting', 'alone'))`,
    );
    this.addSql('create index execution_suspects on execution (id) where suspect is not null');
  }
}
