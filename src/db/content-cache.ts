import { createHash } from 'node:crypto';
import type { MikroORM } from '@mikro-orm/postgresql';
import { isAboutData } from '../kernel/sql.ts';
import { mapYielding } from '../lib/concurrency.ts';
import { countdown } from '../lib/timing.ts';
import type {
  BlobKey,
  BlobRecord,
  CommitChanges,
  ContentCache,
  SearchWords,
  StoredBlob,
} from '../ports/content-cache.ts';
import type { Oid } from '../ports/git-records.ts';
import type { Log } from '../ports/log.ts';

type Row = Record<string, unknown>;

/** Runs one statement; parameters are bound, never written into it. */
type Query = (sql: string, parameters: unknown[]) => Promise<Row[]>;

/** Deadlines of a read and of a background change, and the pause after a database that missed one; milliseconds. */
const patience = 2_000;
const changePatience = 20_000;
const pause = 2_000;

/**
 * The database, for what can be done without it: a statement that fails or takes too long answers null, and for a moment no more are
 * sent, so that a database that is away hardly slows readers of content down.
 */
class CacheConnection {
  readonly #orm: MikroORM;
  readonly #log: Log;
  #quietUntil = 0;

  constructor(orm: MikroORM, log: Log) {
    this.#orm = orm;
    this.#log = log;
  }

  /** Asks one thing. */
  ask(sql: string, parameters: unknown[]): Promise<Row[] | null> {
    return this.#guarded(async () => (await (await this.#pool()).query(sql, parameters)).rows as Row[], patience);
  }

  /** Does all or nothing. */
  change<T>(work: (query: Query) => Promise<T>): Promise<T | null> {
    return this.#guarded(async () => {
      const client = await (await this.#pool()).connect();
      const query: Query = async (sql, parameters) => (await client.query(sql, parameters)).rows as Row[];
      try {
        await client.query('begin');
        const result = await work(query);
        await client.query('commit');
        client.release();
        return result;
      } catch (error) {
        client.release(true);
        throw error;
      }
    }, changePatience);
  }

  #pool() {
    return this.#orm.em.getConnection().getNativeClient();
  }

  async #guarded<T>(work: () => Promise<T>, limit: number): Promise<T | null> {
    if (performance.now() < this.#quietUntil) return null;
    let stop = () => {};
    try {
      const result = work();
      const late = new Promise<never>((_, reject) => {
        stop = countdown(limit, () => reject(new Error('The database did not answer in time')));
      });
      result.catch(() => {});
      return await Promise.race([result, late]);
    } catch (err) {
      if (!isAboutData(err)) this.#quietUntil = performance.now() + pause;
      this.#log.warn({ err }, 'content cache not used');
      return null;
    } finally {
      stop();
    }
  }
}

const bytesOf = (oid: Oid) => Buffer.from(oid, 'hex');

/** A lexeme in every row of a repository, so that the index itself separates repositories; no word begins with `#`. */
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
const keysOf = (blobs: readonly BlobKey[]) => [blobs.map(({ format }) => format), blobs.map(({ oid }) => bytesOf(oid))];

/** The table `studio_blob`. */
function blobRows(connection: CacheConnection): Pick<ContentCache, 'facts' | 'stored' | 'search' | 'store' | 'settle'> {
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

/** Paths may be longer than an index entry: they are known by 16 bytes of their SHA-256. */
const digest = (path: string) => createHash('sha256').update(path).digest().subarray(0, 16);
const hex = (bytes: unknown) => (bytes as Buffer).toString('hex');

const readLastCommitsSql = `
  select marker.commit as marker, last.path, last.commit
  from studio_marker marker
  left join studio_last_commit last on last.project_uuid = marker.project_uuid and last.path = any($2::bytea[])
  where marker.project_uuid = $1`;

const upsertSql = `
  insert into studio_last_commit (project_uuid, path, commit)
  select $1, path, commit from unnest($2::bytea[], $3::bytea[]) as last (path, commit)
  on conflict (project_uuid, path) do update set commit = excluded.commit`;

const atOnce = 5_000;

async function upsert(query: Query, repository: string, commits: readonly (readonly [string, Oid])[]): Promise<void> {
  for (let at = 0; at < commits.length; at += atOnce) {
    const batch = commits.slice(at, at + atOnce);
    await query(upsertSql, [repository, batch.map(([path]) => digest(path)), batch.map(([, oid]) => bytesOf(oid))]);
  }
}

/** Puts the marker at a commit and holds its row; false when another process has moved it from where it was. */
async function takeMarker(query: Query, repository: string, from: Oid | null, to: Oid): Promise<boolean> {
  if (from !== null) {
    const sql = 'update studio_marker set commit = $3 where project_uuid = $1 and commit = $2 returning 1';
    return (await query(sql, [repository, bytesOf(from), bytesOf(to)])).length > 0;
  }
  const sql = `insert into studio_marker (project_uuid, commit) values ($1, $2)
    on conflict (project_uuid) do update set commit = excluded.commit`;
  await query(sql, [repository, bytesOf(to)]);
  await query('delete from studio_last_commit where project_uuid = $1', [repository]);
  return true;
}

const isKnown = (change: [string, Oid | null]): change is [string, Oid] => change[1] !== null;

/** The tables `studio_marker` and `studio_last_commit`. */
function lastCommitRows(connection: CacheConnection): Pick<ContentCache, 'lastCommits' | 'moveMarker' | 'addCommits'> {
  return {
    async lastCommits(repository, paths) {
      const digests = paths.map(digest);
      const rows = await connection.ask(readLastCommitsSql, [repository, digests]);
      if (!rows) return null;
      if (!rows[0]) return { marker: null, commits: new Map() };
      const found = new Map(rows.filter((row) => row.path !== null).map((row) => [hex(row.path), hex(row.commit)]));
      const known = paths.map((path, at): [string, Oid | null] => [path, found.get(hex(digests[at])) ?? null]);
      return { marker: hex(rows[0].marker), commits: new Map(known.filter(isKnown)) };
    },
    async moveMarker(repository, from, to, changes: CommitChanges) {
      const moved = await connection.change(async (query) => {
        if (!(await takeMarker(query, repository, from, to))) return false;
        const unknown = [...changes].filter((change) => !isKnown(change)).map(([path]) => digest(path));
        const sql = 'delete from studio_last_commit where project_uuid = $1 and path = any($2::bytea[])';
        if (from !== null && unknown.length > 0) await query(sql, [repository, unknown]);
        await upsert(query, repository, [...changes].filter(isKnown));
        return true;
      });
      return moved ?? false;
    },
    async addCommits(repository, marker, commits) {
      const added = await connection.change(async (query) => {
        const sql = 'select 1 from studio_marker where project_uuid = $1 and commit = $2 for share';
        if ((await query(sql, [repository, bytesOf(marker)])).length === 0) return false;
        await upsert(query, repository, [...commits]);
        return true;
      });
      return added ?? false;
    },
  };
}

const retireSql = `
  update studio_blob blob set retired_at = now()
  from unnest($2::text[], $3::bytea[]) as given (format, oid)
  where blob.project_uuid = $1 and blob.format = given.format and blob.oid = given.oid and retired_at is null`;

/** Rows that a writer holds are about to be stored again: they are left to it. */
const removeBlobsSql = `
  delete from studio_blob where ctid = any(array(
    select ctid from studio_blob where retired_at < now() - interval '1 hour' limit $1 for update skip locked
  )) returning 1`;

const removeSchemasSql = `delete from studio_schema where stored_at < now() - interval '30 days'`;

const forgetSql = `
  delete from studio_last_commit where project_uuid = $1 and path in (
    select path from studio_last_commit where project_uuid = $1
    except select path from unnest($2::bytea[]) as held (path) limit $3
  ) returning 1`;

/** Removal of rows that are no longer referenced, for the upkeep. */
function expiredRows(connection: CacheConnection): Pick<ContentCache, 'retire' | 'removeExpired' | 'forgetCommits'> {
  return {
    async retire(repository, blobs) {
      const done = await connection.change((query) => query(retireSql, [repository, ...keysOf(blobs)]));
      return done !== null;
    },
    async removeExpired(limit) {
      const removed = await connection.change(async (query) => {
        await query(removeSchemasSql, []);
        return query(removeBlobsSql, [limit]);
      });
      return removed?.length ?? null;
    },
    async forgetCommits(repository, marker, held, limit) {
      const digests = await mapYielding(held, digest);
      const forgotten = await connection.change(async (query) => {
        const sql = 'select 1 from studio_marker where project_uuid = $1 and commit = $2 for update';
        if ((await query(sql, [repository, bytesOf(marker)])).length === 0) return [];
        return query(forgetSql, [repository, digests, limit]);
      });
      return forgotten?.length ?? null;
    },
  };
}

/** Of one configuration so many variants are looked at. */
const mostVariants = 8;
/** Of a project so many rows are kept, the newest. */
const mostRows = 64;

const readSchemaSql = `
  select encode(key, 'hex') as key, encode(variant, 'hex') as variant, discovery::text as text
  from studio_schema where project_uuid = $1 and key = any($2::bytea[])
  order by number desc limit ${mostVariants}`;

const storeSchemaSql = `
  insert into studio_schema (project_uuid, key, variant, discovery) values ($1, $2, $3, $4::json)
  on conflict (project_uuid, key, variant) do update set discovery = excluded.discovery, number = default, stored_at = now()`;

const boundSql = `
  delete from studio_schema where project_uuid = $1 and number <= (
    select number from studio_schema where project_uuid = $1 order by number desc offset ${mostRows} limit 1
  )`;

/** The table `studio_schema`. */
function schemaRows(connection: CacheConnection): Pick<ContentCache, 'schemas' | 'storeSchemas'> {
  return {
    async schemas(repository, keys) {
      const rows = await connection.ask(readSchemaSql, [repository, keys.map(bytesOf)]);
      return (
        rows?.map(({ key, variant, text }) => ({ key: String(key), variant: String(variant), text: String(text) })) ??
        null
      );
    },
    async storeSchemas(repository, { key, variant, text }) {
      const stored = await connection.change(async (query) => {
        await query(storeSchemaSql, [repository, bytesOf(key), bytesOf(variant), text]);
        await query(boundSql, [repository]);
        return true;
      });
      return stored ?? false;
    },
  };
}

/** Keeps what is derived from content in PostgreSQL. */
export function createContentCache(orm: MikroORM, log: Log): ContentCache {
  const connection = new CacheConnection(orm, log);
  return {
    ...blobRows(connection),
    ...schemaRows(connection),
    ...expiredRows(connection),
    ...lastCommitRows(connection),
  };
}
