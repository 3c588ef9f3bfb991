import { isIP, type LookupFunction, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import type { HttpPolicy } from '../../domain/ports/http.ts';
import { asConnectFailure, httpFailure } from './failures.ts';
import type { Guard } from './guard.ts';

export interface ConnectorOptions {
  guard: Guard;
  policy: HttpPolicy;
  /** PEM roots; replaces the built-in ones, so it holds those too. */
  ca: string[];
  /** Milliseconds for resolving, checking, TCP and TLS together. */
  timeout: number;
}

/**
 * undici's connector behind the guard. The name is resolved here, once per connection, and the socket may go only to what was
 * checked: asking the resolver again, as a plain connect would, is what DNS rebinding lives on. SNI and certificate check use the
 * name.
 */
export function guardedConnector({ guard, policy, ca, timeout }: ConnectorOptions): buildConnector.connector {
  return (options, callback) => {
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    const host = options.hostname.replace(/^\[|\]$/g, '');
    const started = performance.now();
    inTime(guard({ host, port }, policy), timeout, host)
      .then((addresses) => {
        // Certificate errors are never waived, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
        const tls = { ca, rejectUnauthorized: true, allowH2: false, maxCachedSessions: 0 };
        const left = Math.max(1, timeout - (performance.now() - started));
        const connect = buildConnector({ ...tls, timeout: left, lookup: fixedLookup(addresses) });
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

/** undici's connector returns the socket at once, which its types leave out; it tells how far a failed connection came. */
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

/** The system's resolver cannot be interrupted; its answer is left behind when the time is over. */
function inTime<T>(promise: Promise<T>, milliseconds: number, host: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(httpFailure('timeout', `${host}: the name was not resolved in time`));
    const timer = setTimeout(late, milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
