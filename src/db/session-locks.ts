import type { EntityManager } from '@mikro-orm/postgresql';
import pg from 'pg';
import { executeBound } from '../kernel/sql.ts';
import type { Locks } from '../ports/locks.ts';
import { endConnection } from './listener.ts';

/** How long the connection and each answer may take, milliseconds; no statement here waits for a lock. */
const patience = 10_000;

const key = 'hashtextextended($1, 0)';

/** The connection that holds locks. */
interface Session {
  client: pg.Client;
  /** Rejects when the connection cannot be made: the client would keep statements for it, and send none. */
  opened: Promise<unknown>;
  /** The last statement: each waits for the one before it. */
  last: Promise<unknown>;
  /** Locks held or tried for. */
  uses: number;
}

async function ask(session: Session, lock: string, name: string): Promise<boolean> {
  await session.opened;
  const answer = session.last.then(() =>
    session.client.query<{ done: boolean }>(`select ${lock}(${key}) as done`, [name]),
  );
  session.last = answer.catch(() => {});
  return (await answer).rows[0]?.done === true;
}

/**
 * Advisory locks of PostgreSQL, all of a process on one connection of its own, which is open while there are any. A lock in a transaction would
 * keep a connection of the pool for as long as the work takes that it guards; work that waits for another one beside it can starve the process.
 */
export class SessionLocks implements Locks {
  readonly #url: string;
  /** A session can take a lock it has once more, so the process keeps account itself. */
  readonly #names = new Set<string>();
  #session: Session | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  async unlessHeld<Result>(name: string, work: () => Promise<Result>): Promise<{ result: Result } | null> {
    if (this.#names.has(name)) return null;
    this.#names.add(name);
    try {
      return await this.#within(async (session) => {
        if (!(await ask(session, 'pg_try_advisory_lock', name))) return null;
        try {
          return { result: await work() };
        } finally {
          // What cannot be unlocked ends with its connection, if that has not ended already.
          await ask(session, 'pg_advisory_unlock', name).catch(() => endConnection(session.client));
        }
      });
    } finally {
      this.#names.delete(name);
    }
  }

  async tryUntilCommit(em: EntityManager, name: string): Promise<boolean> {
    const sql = `select pg_try_advisory_xact_lock(${key}) as mine`;
    const [row] = await executeBound<{ mine: boolean }>(em, sql, [name]);
    return row?.mine === true;
  }

  /** Ends the connection, and all locks with it. */
  async close(): Promise<void> {
    if (this.#session) await endConnection(this.#session.client);
  }

  async #within<Result>(act: (session: Session) => Promise<Result>): Promise<Result> {
    this.#session ??= this.#open();
    const session = this.#session;
    session.uses += 1;
    try {
      return await act(session);
    } finally {
      session.uses -= 1;
      if (session.uses === 0) {
        if (this.#session === session) this.#session = null;
        await endConnection(session.client);
      }
    }
  }

  #open(): Session {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'portico-locks',
      connectionTimeoutMillis: patience,
      query_timeout: patience,
      keepAlive: true,
    });
    const session = { client, opened: client.connect(), last: Promise.resolve(), uses: 0 };
    const forget = () => {
      if (this.#session === session) this.#session = null;
    };
    client.on('error', forget);
    client.once('end', forget);
    return session;
  }
}
