import { Migration } from '@mikro-orm/migrations';

/** Why a reply has ended and what a call waits for, by code, so that the dashboard can say it in another language. */
export class AssistantTextCodes extends Migration {
  override name = '20261231-assistant-text-codes';

  override up(): void {
    this.addSql('alter table assistant_conversation add column problem_code jsonb');
    this.addSql('alter table assistant_call add column phrase_code jsonb');
  }
}
