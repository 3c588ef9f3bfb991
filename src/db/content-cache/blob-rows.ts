import type { BlobIds, BlobKey, BlobRecord, ContentCache, SearchWords } from '../../domain/ports/content-cache.ts';
import type { Oid } from '../../domain/ports/git-records.ts';
import type { CacheConnection, Row } from './cache-connection.ts';

export const bytesOf = (oid: Oid) => Buffer.from(oid, 'hex');

/** A lexeme in every row of a repository, so that the index itself tells repositories apart; no word begins with `#`. */
const lexemeOf = (repository: string) => `#${repository}`;

/** Words are letters and digits, and so need no escapes between their quotes. */
function queryOf(repository: string, { whole, prefix }: SearchWords): string {
  const terms = [lexemeOf(repository), ...whole].map((word) => `'${word}'`);
  return [...terms, ...(prefix === null ? [] : [`'${prefix}':*`])].join(' & ');
}

/** Object ids of one repository have one length: they are stored one after the other. */
function oidsOf(bytes: Buffer, length: number): Set<Oid> {
  const text = bytes.toString('hex');
  const oids = new Set<Oid>();
  for (let at = 0; at < text.length; at += 2 * length) oids.add(text.slice(at, at + 2 * length));
  return oids;
}

function idsOf(rows: readonly Row[]): BlobIds {
  const found = rows.filter((row) => row.oids !== null);
  return new Map(found.map(({ format, oids, length }) => [String(format), oidsOf(oids as Buffer, Number(length))]));
}

const factsSql = `
  select wanted.at, blob.facts::text as facts
  from unnest($2::text[], $3::bytea[]) with ordinality as wanted (format, oid, at)
  join studio_blob blob on blob.project_uuid = $1 and blob.format = wanted.format and blob.oid = wanted.oid`;

const storedSql = `
  select format, string_agg(oid, ''::bytea) as oids, max(length(oid)) as length
  from studio_blob where project_uuid = $1 group by format`;

const searchSql = `
  select total.stored, total.length, hits.format, hits.oids
  from (select count(*) as stored, max(length(oid)) as length from studio_blob where project_uuid = $1) total
  left join studio_blob_hits($1, $2::tsquery) hits on true`;

const storeSql = `
  insert into studio_blob (project_uuid, format, oid, facts, words)
  select $1, format, oid, facts::json, array_to_tsvector(string_to_array(words, ' '))
  from unnest($2::text[], $3::bytea[], $4::text[], $5::text[]) as blob (format, oid, facts, words)
  on conflict do nothing`;

/** The table `studio_blob`. */
export function blobRows(
  connection: CacheConnection,
): Pick<ContentCache, 'facts' | 'stored' | 'search' | 'store' | 'settle'> {
  const keys = (blobs: readonly BlobKey[]) => [blobs.map(({ format }) => format), blobs.map(({ oid }) => bytesOf(oid))];
  return {
    async facts(repository, blobs) {
      const rows = await connection.ask(factsSql, [repository, ...keys(blobs)]);
      if (!rows) return null;
      const found = new Array<string | undefined>(blobs.length).fill(undefined);
      for (const { at, facts } of rows) found[Number(at) - 1] = String(facts);
      return found;
    },
    async stored(repository) {
      const rows = await connection.ask(storedSql, [repository]);
      return rows && idsOf(rows);
    },
    async search(repository, words) {
      const rows = await connection.ask(searchSql, [repository, queryOf(repository, words)]);
      return rows && { hits: idsOf(rows), stored: Number(rows[0]?.stored ?? 0) };
    },
    async store(repository, blobs: readonly BlobRecord[]) {
      const facts = blobs.map((blob) => blob.facts);
      const words = blobs.map((blob) => [lexemeOf(repository), ...blob.words].join(' '));
      const stored = await connection.change((query) => query(storeSql, [repository, ...keys(blobs), facts, words]));
      return stored !== null;
    },
    async settle() {
      // New rows wait in a list that every search reads through, until there are enough of them.
      await connection.change((query) => query("select gin_clean_pending_list('studio_blob_words')", []));
    },
  };
}
