import type { MikroORM } from '@mikro-orm/postgresql';
import { countdown } from '../lib/countdown.ts';
import type { Log } from '../ports/log.ts';

export type Row = Record<string, unknown>;

/** Runs one statement; parameters are bound, never written into it. */
export type Query = (sql: string, parameters: unknown[]) => Promise<Row[]>;

/** How long an answer is waited for, and a change that nobody waits for, and for how long a database that gave none is left alone; milliseconds. */
const patience = 2_000;
const changePatience = 20_000;
const pause = 2_000;

/** PostgreSQL's classes 22 and 23: what was given, such as rows of a project that is gone, says nothing about the database. */
const isAboutData = (error: unknown) => /^2[23]/.test(String((error as { code?: unknown }).code ?? ''));

/**
 * The database, for what can be done without it: a statement that fails or takes too long answers null, and for a moment nothing more is
 * asked, so that a database that is away costs those who read content next to nothing.
 */
export class CacheConnection {
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
