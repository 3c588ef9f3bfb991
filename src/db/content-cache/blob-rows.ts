import type { BlobKey, BlobRecord, ContentCache, SearchWords, StoredBlob } from '../../domain/ports/content-cache.ts';
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

/** Object ids of one repository have one length: with their rows' numbers they come one after the other. */
function* blobsIn(rows: readonly Row[]): Generator<StoredBlob> {
  for (const { format, blobs, length } of rows) {
    const bytes = blobs as Buffer;
    const digits = 2 * Number(length);
    const text = bytes.toString('hex');
    for (let at = 0; at < text.length; at += digits + 8) {
      const oid = text.slice(at, at + digits);
      yield { format: String(format), oid, number: bytes.readInt32BE((at + digits) / 2) };
    }
  }
}

function numbersIn(bytes: Buffer): Set<number> {
  const numbers = new Set<number>();
  for (let at = 0; at < bytes.length; at += 4) numbers.add(bytes.readInt32BE(at));
  return numbers;
}

const factsSql = `
  select wanted.at, blob.facts::text as facts
  from unnest($2::text[], $3::bytea[]) with ordinality as wanted (format, oid, at)
  join studio_blob blob on blob.project_uuid = $1 and blob.format = wanted.format and blob.oid = wanted.oid`;

const storedSql = `
  select format, string_agg(oid || int4send(number), ''::bytea) as blobs, max(length(oid)) as length
  from studio_blob where project_uuid = $1 and retired_at is null group by format`;

/** A row that is removed meanwhile is still seen by this statement, which has put another in its place: what it has written comes first. */
const storeSql = `
  with given as (
    select * from unnest($2::text[], $3::bytea[], $4::text[], $5::text[]) as blob (format, oid, facts, words)
  ), inserted as (
    insert into studio_blob (project_uuid, format, oid, facts, words)
    select $1, format, oid, facts::json, array_to_tsvector(string_to_array(words, ' ')) from given
    on conflict (project_uuid, format, oid) do update set retired_at = null where studio_blob.retired_at is not null
    returning format, oid, number
  ), there as (
    select format, oid, blob.number from studio_blob blob join given using (format, oid) where project_uuid = $1
  )
  select format, encode(oid, 'hex') as oid, number from inserted
  union all select format, encode(oid, 'hex'), number from there where (format, oid) not in (select format, oid from inserted)`;

/** Keys as two arrays of parameters. */
export const keysOf = (blobs: readonly BlobKey[]) => [
  blobs.map(({ format }) => format),
  blobs.map(({ oid }) => bytesOf(oid)),
];

/** The table `studio_blob`. */
export function blobRows(
  connection: CacheConnection,
): Pick<ContentCache, 'facts' | 'stored' | 'search' | 'store' | 'settle'> {
  return {
    async facts(repository, blobs) {
      const rows = await connection.ask(factsSql, [repository, ...keysOf(blobs)]);
      if (!rows) return null;
      const found = new Array<string | undefined>(blobs.length).fill(undefined);
      for (const { at, facts } of rows) found[Number(at) - 1] = String(facts);
      return found;
    },
    async stored(repository) {
      const rows = await connection.ask(storedSql, [repository]);
      return rows && blobsIn(rows);
    },
    async search(repository, words) {
      const rows = await connection.ask('select studio_blob_hits($1, $2::tsquery) as hits', [
        repository,
        queryOf(repository, words),
      ]);
      return rows && numbersIn((rows[0]?.hits as Buffer | null) ?? Buffer.alloc(0));
    },
    async store(repository, blobs: readonly BlobRecord[]) {
      const facts = blobs.map((blob) => blob.facts);
      const words = blobs.map((blob) => [lexemeOf(repository), ...blob.words].join(' '));
      const rows = await connection.change((query) => query(storeSql, [repository, ...keysOf(blobs), facts, words]));
      return (
        rows?.map(({ format, oid, number }) => ({
          format: String(format),
          oid: String(oid),
          number: Number(number),
        })) ?? null
      );
    },
    async settle() {
      // New rows wait in a list that every search reads through, until there are enough of them.
      await connection.change((query) => query("select gin_clean_pending_list('studio_blob_words')", []));
    },
  };
}
