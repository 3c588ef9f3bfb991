import { Migration } from '@mikro-orm/migrations';

/** Environments that are copies for drafts, the one they are copies of, and which secret variables they get. */
export class DraftPreviews extends Migration {
  override name = '20261228-draft-previews';

  override up(): void {
    this.addSql(`
      alter table environment
        add column draft_source boolean not null default false,
        add column previewed_at timestamptz(3)`);
    this.addSql(`create unique index on environment (project_id) where draft_source`);
    this.addSql(`create unique index on environment (project_id, branch) where previewed_at is not null`);
    this.addSql(`
      update environment set variables = coalesce(
        (select json_agg(variable::jsonb || '{"available_in_drafts": false}' order by place)
         from json_array_elements(variables) with ordinality as stored(variable, place)),
        '[]'::json)`);
  }
}
