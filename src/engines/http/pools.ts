import { isIP, type LookupFunction, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { Agent, buildConnector } from 'undici';
import { undici } from '../../lib/http-client.ts';
import type { Opening } from '../../ports/exchange.ts';
import type { HttpPolicy } from '../../ports/http.ts';
import { asConnectFailure, httpFailure, maxHeaderBytes } from './failures.ts';
import type { Guard } from './guard.ts';

interface ConnectorOptions {
  guard: Guard;
  policy: HttpPolicy;
  /** PEM CA certificates; replaces the built-in ones, so it contains those too. */
  ca: string[];
  /** Milliseconds for resolving, checking, TCP and TLS together. */
  timeout: number;
}

/**
 * undici's connector behind the guard. The name is resolved here, once per connection, and the socket may only connect to what was
 * checked: resolving again, as a plain connect would, is what makes DNS rebinding possible. SNI and certificate check use the
 * name.
 */
function guardedConnector({ guard, policy, ca, timeout }: ConnectorOptions): buildConnector.connector {
  return (options, callback) => {
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    const host = options.hostname.replace(/^\[|\]$/g, '');
    const started = performance.now();
    inTime(guard({ host, port }, policy), timeout, host)
      .then((addresses) => {
        // Certificate errors are never waived, whatever NODE_TLS_REJECT_UNAUTHORIZED is.
        const tls = { ca, rejectUnauthorized: true, allowH2: false, maxCachedSessions: 0 };
        const left = Math.max(1, timeout - (performance.now() - started));
        const connect = undici().buildConnector({ ...tls, timeout: left, lookup: fixedLookup(addresses) });
        let stood = false;
        const dialled = dial(connect, { ...options, hostname: host }, (error, socket) => {
          if (error !== null) callback(asConnectFailure(error, host, stood), null);
          else if (wentTo(socket, addresses)) callback(null, socket);
          else {
            socket.destroy();
            callback(httpFailure('blocked_address', `${host}: the connection went elsewhere`), null);
          }
        });
        dialled.once('connect', () => {
          stood = true;
        });
      })
      .catch((error: unknown) => callback(asConnectFailure(error, host, false), null));
  };
}

/** undici's connector returns the socket at once, which its types leave out; it shows how far a failed connection got. */
function dial(
  connect: buildConnector.connector,
  options: buildConnector.Options,
  callback: buildConnector.Callback,
): Socket {
  return (connect as (...args: Parameters<buildConnector.connector>) => unknown)(options, callback) as Socket;
}

/** Answers node's resolver question with the addresses already checked, in their order. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const records = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, options, callback) => {
    const [first] = records;
    if (options.all) callback(null, records);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function wentTo(socket: Socket, addresses: readonly string[]): boolean {
  const canonical = (address: string): string => ipaddr.process(address).toString();
  return socket.remoteAddress !== undefined && addresses.map(canonical).includes(canonical(socket.remoteAddress));
}

/** A name server may take longer than there is time; its answer is left behind then. */
function inTime<T>(promise: Promise<T>, milliseconds: number, host: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(httpFailure('timeout', `${host}: the name was not resolved in time`));
    const timer = setTimeout(late, milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export interface Pools {
  /** The dispatcher for a request: shared within the policy's pool, or one of its own that ends with the request. */
  use<T>(policy: HttpPolicy, connectTimeout: number, send: (agent: Agent) => T): T;
  close(): Promise<void>;
}

/** A pool without requests for this long gives its connections back. */
const idleMilliseconds = 60_000;
/** A pool in use is made young this often at most: each time costs a timer. */
const renewMilliseconds = 5_000;
/** An end waits so long for answers under way; what others' servers still owe then ends with the process. */
const patience = 1_000;

interface Pool {
  agent: Agent;
  /** When it was last made young; milliseconds since 1970. */
  since: number;
}

/** Names of policies, which are immutable: a crawl has one for all of its requests. */
const keys = new WeakMap<HttpPolicy, string>();

/** What may share connections under a policy. */
function keyOf(policy: HttpPolicy): string {
  const known = keys.get(policy);
  if (known !== undefined) return known;
  const { pool, ports = null, trustedNames = [], allowedCidrs = [] } = policy;
  const key = JSON.stringify([pool, ports, trustedNames, allowedCidrs]);
  keys.set(policy, key);
  return key;
}

/**
 * Connections by pool **and** policy: one that was opened under a laxer policy must not serve a stricter one, because the check
 * runs when a connection is made and not when it is used again.
 */
export function createPools(guard: Guard, ca: string[]): Pools {
  const closing = new Set<Promise<void>>();
  const retire = (agent: Agent): void => {
    const done: Promise<void> = agent.close().finally(() => closing.delete(done));
    closing.add(done);
  };
  const agents = new LRUCache<string, Pool>({
    max: 256,
    ttl: idleMilliseconds,
    ttlAutopurge: true,
    dispose: ({ agent }) => retire(agent),
    noDisposeOnSet: true,
  });
  const open = (policy: HttpPolicy, timeout: number, pooled: boolean): Agent =>
    new (undici().Agent)({
      connect: guardedConnector({ guard, policy, ca, timeout }),
      pipelining: pooled ? 1 : 0,
      allowH2: false,
      maxHeaderSize: maxHeaderBytes,
    });

  return {
    use(policy, connectTimeout, send) {
      if (policy.pool === undefined) {
        const agent = open(policy, connectTimeout, false);
        // The call is on its way once `send` returns; close() lets it finish.
        const sent = send(agent);
        retire(agent);
        return sent;
      }
      const key = `${connectTimeout} ${keyOf(policy)}`;
      const found = agents.get(key) ?? { agent: open(policy, connectTimeout, true), since: 0 };
      const now = Date.now();
      if (now - found.since > renewMilliseconds || now < found.since) {
        found.since = now;
        agents.set(key, found);
      }
      return send(found.agent);
    },
    async close() {
      agents.clear();
      await Promise.race([Promise.all(closing), delay(patience, undefined, { ref: false })]);
    },
  };
}

/** Takes a request back in the moment it would be written; its connection stays. */
const opened = new Error('the connection is there');

/** A connection that is being opened, and that no request waits for yet. */
interface UnderWay {
  agent: Agent;
  origin: string;
  isOver: Promise<void>;
}

/** Connections that are opened ahead of the requests that are to use them. */
export class Openings {
  readonly #pools: Pools;
  readonly #underWay = new Set<UnderWay>();

  constructor(pools: Pools) {
    this.#pools = pools;
  }

  /** The port on undici's dispatchers. */
  readonly open: Opening = async ({ origin }, { policy, connect }) => {
    try {
      await this.#pools.use(policy, connect, (agent) => this.#begin(agent, origin));
    } catch {
      // The exchange reports the reason.
    }
  };

  /**
   * What a request has to wait for that is about to begin: otherwise undici, to which a connection that is being opened is busy, would open
   * another one for it. Each is waited for by one request.
   * @returns rejects as the connection fails; null: no connection is being opened, or one is free
   */
  take(agent: Agent, origin: string): Promise<void> | null {
    for (const one of this.#underWay) {
      if (one.agent !== agent || one.origin !== origin) continue;
      const stats = agent.stats[origin];
      if (stats !== undefined && 'free' in stats && stats.free > 0) return null;
      this.#underWay.delete(one);
      return one.isOver;
    }
    return null;
  }

  /** Connections are opened for requests only: so one is made that ends before a byte of it is sent. */
  #begin(agent: Agent, origin: string): Promise<void> {
    const { promise: isOver, resolve, reject } = Promise.withResolvers<void>();
    const underWay: UnderWay = { agent, origin, isOver };
    this.#underWay.add(underWay);
    const end = (error: unknown): void => {
      this.#underWay.delete(underWay);
      if (error === opened) resolve();
      else reject(error);
    };
    try {
      agent.dispatch(
        { origin, path: '/', method: 'GET' },
        {
          onRequestStart() {
            throw opened;
          },
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd() {},
          onResponseError: (_controller, error) => end(error),
        },
      );
    } catch (error) {
      end(error);
    }
    return isOver;
  }
}
