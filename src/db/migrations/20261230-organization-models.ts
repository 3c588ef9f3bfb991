import { Migration } from '@mikro-orm/migrations';

/** What organisations have set of the assistant's model. */
export class OrganizationModels extends Migration {
  override name = '20261230-organization-models';

  override up(): void {
    this.addSql(`
      create table organization_model (
        organization_id integer primary key references organization on delete cascade,
        provider text,
        url text,
        model text,
        key text,
        key_origin text,
        version integer not null,
        updated_at timestamptz(3) not null
      )`);
  }
}
