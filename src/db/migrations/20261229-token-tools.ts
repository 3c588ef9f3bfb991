import { Migration } from '@mikro-orm/migrations';

/** What tokens allow to clients of the Model Context Protocol. */
export class TokenTools extends Migration {
  override name = '20261229-token-tools';

  override up(): void {
    this.addSql(`
      alter table token
        add column mcp json not null default '{"publish": false, "all_operations": false}'`);
    this.addSql(`alter table token alter column mcp drop default`);
  }
}
