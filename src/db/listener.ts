import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Log } from '../ports/log.ts';

/** Receives notifications on one connection of its own, and knows when it does not. */
export interface Listener {
  /** Resolves once the first connection listens. */
  ready: Promise<void>;
  close(): Promise<void>;
}

interface Options {
  url: string;
  log: Log;
  channels: Record<string, (payload: string) => void>;
  /** Called on each change: whether notifications are received. */
  onState(listening: boolean): void;
  /** How often the connection must receive its own echo; milliseconds. */
  echoEvery?: number;
}

const echoChannel = 'portico_echo';
const retryEvery = 250;
/** How long the database may take to close a connection, milliseconds. */
const patience = 2_000;

/** Ends a connection, by cutting it when the other end does not answer. */
export async function endConnection(client: pg.Client): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), patience);
  await client.end().catch(() => {});
  clearTimeout(late);
}

/**
 * Keeps a listening connection. It sends itself an echo every 5 s; a connection without it is given up, because a connection cut
 * without a word would otherwise go on seeming alive.
 */
export function listen({ url, log, channels, onState, echoEvery = 5_000 }: Options): Listener {
  let closed = false;
  let client: pg.Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let markReady = () => {};
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });

  const lose = (lost: pg.Client) => {
    if (client !== lost) return;
    client = null;
    clearInterval(timer);
    onState(false);
    lost.removeAllListeners();
    lost.on('error', () => {});
    void endConnection(lost);
    if (!closed) timer = setTimeout(connect, retryEvery);
  };

  const connect = async () => {
    const next = new pg.Client({ connectionString: url, application_name: 'portico-listener', keepAlive: true });
    let owed: string | null = null;
    next.on('error', () => lose(next));
    next.on('end', () => lose(next));
    next.on('notification', ({ channel, payload }) => {
      if (channel === echoChannel && payload === owed) owed = null;
      channels[channel]?.(payload ?? '');
    });
    client = next;
    try {
      await next.connect();
      for (const channel of [...Object.keys(channels), echoChannel]) await next.query(`listen ${channel}`);
    } catch (err) {
      log.debug({ err }, 'listening connection not made');
      return lose(next);
    }
    if (closed) return lose(next);
    timer = setInterval(() => {
      if (owed !== null) return lose(next);
      owed = randomUUID();
      next.query('select pg_notify($1, $2)', [echoChannel, owed]).catch(() => lose(next));
    }, echoEvery);
    timer.unref();
    onState(true);
    markReady();
  };

  void connect();
  return {
    ready,
    async close() {
      closed = true;
      clearInterval(timer);
      clearTimeout(timer);
      const last = client;
      client = null;
      onState(false);
      if (last !== null) await endConnection(last);
      markReady();
    },
  };
}
