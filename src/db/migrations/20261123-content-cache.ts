import { Migration } from '@mikro-orm/migrations';

/** What is derived from content. All of it can be lost: it is made again from the repositories. */
export class ContentCache extends Migration {
  override name = '20261123-content-cache';

  override up(): void {
    // json, not jsonb: facts may hold \u0000 and halves of surrogate pairs, and the order of their keys counts.
    this.addSql(`
      create table studio_blob (
        project_uuid uuid not null references project (uuid) on delete cascade,
        format text not null,
        oid bytea not null,
        number integer generated always as identity,
        facts json not null,
        words tsvector not null,
        primary key (project_uuid, format, oid)
      ) with (toast_tuple_target = 128)`);
    // Facts stay in the row and words lie beside the table, so that reading either does not read the other.
    this.addSql('alter table studio_blob alter column facts set storage main');
    this.addSql('create index studio_blob_words on studio_blob using gin (words)');
    // The planner does not know that a scan of the table unpacks the words of every row, and takes it for words that are in most.
    this.addSql(`
      create function studio_blob_hits(project uuid, query tsquery) returns bytea
      language sql stable set enable_seqscan = off as $$
        select string_agg(int4send(number), ''::bytea) from studio_blob where words @@ query and project_uuid = project
      $$`);
    this.addSql(`
      create table studio_marker (
        project_uuid uuid primary key references project (uuid) on delete cascade,
        commit bytea not null
      )`);
    this.addSql(`
      create table studio_last_commit (
        project_uuid uuid not null references studio_marker on delete cascade,
        path bytea not null,
        commit bytea not null,
        primary key (project_uuid, path)
      )`);
  }
}
