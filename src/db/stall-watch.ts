import pg, { type Pool, type PoolClient } from 'pg';
import { countdown } from '../lib/timing.ts';
import type { Log } from '../ports/log.ts';
import { tally } from '../ports/tally.ts';

/** How long something is unanswered before it is tried whether the database answers anything, and the time it has for that; milliseconds. */
const unanswered = 5_000;
const patience = 5_000;
/** Wait between looks, milliseconds. */
const every = 1_000;

interface Options {
  log: Pick<Log, 'warn' | 'info'>;
  /** Asks the database for anything at all. Rejects when it refuses, which is an answer too. */
  ask(): Promise<unknown>;
  unanswered?: number;
  patience?: number;
  every?: number;
}

/** A statement or a connection that is waited for. */
interface Wait {
  /** By the clock of `performance`, milliseconds. */
  since: number;
  giveUp(): void;
}

/** `asUnavailable` knows it by its first words. */
const stalled = () => new Error('Connection terminated: the database takes statements and answers none');

/**
 * Notices a database that takes connections and statements and answers none: its machine stands still, or its processes are stopped. TCP says
 * nothing of it, so a wait for it would not end. How long a statement takes proves nothing, since migrations, backups and locks take
 * their time. So when one is unanswered for long, a new connection sends a small query: only if that is not answered either is everything
 * that waits given up, connections with it, and nothing begun until the same question has its answer.
 */
export class StallWatch {
  readonly #options: Required<Options>;
  /** Oldest first. */
  readonly #waits = new Set<Wait>();
  readonly #watched = new WeakSet<PoolClient>();
  readonly #timer: NodeJS.Timeout;
  #isStalled = false;
  #isAsking = false;
  #lastProbe = Number.NEGATIVE_INFINITY;

  constructor(options: Options) {
    this.#options = { unanswered, patience, every, ...options };
    this.#timer = setInterval(() => this.#look(), this.#options.every).unref();
  }

  /** Watches the queries on the connections of a pool. */
  watch(pool: Pool): void {
    const connect = pool.connect.bind(pool) as () => Promise<PoolClient>;
    pool.on('acquire', (client) => this.#watchClient(client));
    pool.connect = ((callback?: (error: unknown, client?: PoolClient, release?: PoolClient['release']) => void) => {
      const connected = this.#connect(connect);
      if (callback === undefined) return connected;
      connected.then(
        (client) => callback(undefined, client, client.release),
        (error: unknown) => callback(error),
      );
    }) as Pool['connect'];
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #connect(connect: () => Promise<PoolClient>): Promise<PoolClient> {
    if (this.#isStalled) throw stalled();
    const connecting = connect();
    let isGivenUp = false;
    const givenUp = Promise.withResolvers<never>();
    const end = this.#begin(() => {
      isGivenUp = true;
      givenUp.reject(stalled());
    });
    connecting.then(
      (client) => isGivenUp && client.release(),
      () => {},
    );
    return Promise.race([connecting, givenUp.promise]).finally(end);
  }

  #watchClient(client: PoolClient): void {
    if (this.#watched.has(client)) return;
    this.#watched.add(client);
    // A pool takes its listener off a client that it hands over; one without a listener ends the process when its connection is lost.
    client.on('error', () => {});
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    const giveUp = () => void client.connection.stream.destroy(stalled());
    client.query = ((...given: unknown[]) => {
      const callback = given.at(-1);
      tally.statement.publish(given[0]);
      const end = this.#begin(giveUp);
      if (typeof callback === 'function')
        return query(...given.slice(0, -1), (...answer: unknown[]) => {
          end();
          callback(...answer);
        });
      const answered = query(...given);
      if (answered instanceof Promise) answered.then(end, end);
      else end();
      return answered;
    }) as PoolClient['query'];
  }

  /** @returns notes that it has been answered */
  #begin(giveUp: () => void): () => void {
    const wait: Wait = { since: performance.now(), giveUp };
    this.#waits.add(wait);
    return () => void this.#waits.delete(wait);
  }

  #look(): void {
    // Queries of transactions that had their connections before.
    if (this.#isStalled) this.#giveUpAll();
    const [oldest] = this.#waits;
    const now = performance.now();
    const isDue = (since: number) => now - since >= this.#options.unanswered;
    if (oldest !== undefined && isDue(oldest.since) && isDue(this.#lastProbe) && !this.#isAsking) void this.#ask(now);
  }

  async #ask(now: number): Promise<void> {
    const { ask, log } = this.#options;
    this.#isAsking = true;
    this.#lastProbe = now;
    const stop = countdown(this.#options.patience, () => {
      log.warn({ unanswered: this.#waits.size }, 'the database does not answer; what waits for it is given up');
      this.#isStalled = true;
      this.#giveUpAll();
    });
    await ask().catch(() => {});
    stop();
    if (this.#isStalled) log.info({}, 'the database answers again');
    this.#isStalled = false;
    this.#isAsking = false;
  }

  #giveUpAll(): void {
    for (const wait of [...this.#waits]) wait.giveUp();
  }
}

/** A question to a database on a connection of its own. */
export async function askAnything(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'portico-probe' });
  // A connection lost between two queries is an event, and one without a listener ends the process.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end().catch(() => {});
  }
}
