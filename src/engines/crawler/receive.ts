import { Readable } from 'node:stream';
import { DomainError } from '../../kernel/errors.ts';
import type { Exchange, ExchangeRequest, Flow } from '../../ports/exchange.ts';
import type { FetchError, FetchedHeaders, FetchFault, FetchLimits } from '../../ports/fetcher.ts';
import type { HttpFailure } from '../../ports/http.ts';

const mebibyte = 1024 * 1024;

export const defaultLimits: FetchLimits = {
  body: 100 * mebibyte,
  read: 10 * mebibyte,
  connect: 10_000,
  headers: 30_000,
  idle: 15_000,
  total: 120_000,
};

/** Bodies up to this size on the wire are gathered in memory, larger ones flow to the disk; bytes. */
export const gatheredBytes = 256 * 1024;

/** Up to so many bytes of an unused body are read to keep the connection. */
const drainedBytes = 64 * 1024;

/** The most a body may decode to, given what came over the wire; bytes. A page compresses to a twentieth, a bomb to a thousandth. */
export const decodedAllowance = (wire: number): number => 100 * wire + 10 * mebibyte;

/** An answer's head, and its body as it is on the wire: whole when it is small, a stream when not, null when it is not needed. */
interface Received {
  status: number;
  headers: FetchedHeaders;
  body: Buffer | Readable | null;
}

/** Counts the bytes received, also when the exchange fails. */
export interface Tally {
  wire: number;
}

/**
 * Sends a request and gathers its answer.
 * @param wants decides whether the body is needed; may throw, which ends the exchange
 * @returns once a small body is there, or at the beginning of a larger one, whose faults come out of the stream
 */
export function receive(
  exchange: Exchange,
  url: URL,
  request: ExchangeRequest,
  tally: Tally,
  wants: (status: number, headers: FetchedHeaders) => boolean,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    let head: Omit<Received, 'body'> | undefined;
    let isWanted = false;
    let chunks: Buffer[] = [];
    let stream: Readable | undefined;
    let flow: Flow | undefined;

    const pour = (): Readable => {
      const pouring = new Readable({
        highWaterMark: gatheredBytes,
        read: () => flow?.resume(),
        destroy(error, done) {
          flow?.stop();
          done(error);
        },
      });
      // It may fail before its reader has begun, which gets the error then; an error without a listener would end the process.
      pouring.on('error', () => {});
      for (const chunk of chunks) pouring.push(chunk);
      chunks = [];
      return pouring;
    };

    exchange(url, request, {
      head(status, headers, flowing) {
        flow = flowing;
        head = { status, headers };
        try {
          isWanted = wants(status, headers);
        } catch (error) {
          flow.stop();
          return reject(error);
        }
        if (isWanted || Number(headers['content-length'] ?? 0) <= drainedBytes) return;
        flow.stop();
        resolve({ ...head, body: null });
      },
      data(chunk) {
        tally.wire += chunk.length;
        if (stream !== undefined) {
          if (!stream.push(chunk)) flow?.pause();
        } else if (isWanted) {
          chunks.push(chunk);
          if (tally.wire <= gatheredBytes || head === undefined) return;
          stream = pour();
          flow?.pause();
          resolve({ ...head, body: stream });
        } else if (tally.wire > drainedBytes && head !== undefined) {
          flow?.stop();
          resolve({ ...head, body: null });
        }
      },
      end() {
        if (stream !== undefined) stream.push(null);
        else if (head !== undefined) resolve({ ...head, body: isWanted ? joined(chunks) : null });
      },
      fail(error) {
        if (stream !== undefined) stream.destroy(error as Error);
        // An unused body cannot be missed: its head is the answer.
        else if (head !== undefined && !isWanted && !request.signal?.aborted) resolve({ ...head, body: null });
        else reject(error);
      },
    });
  });
}

const joined = (chunks: Buffer[]): Buffer => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));

/** A fault of one fetch on its way to becoming a result: the reason is the name the run shows. */
class CrawlFault extends Error {
  override name = 'CrawlFault';
  readonly error: FetchError;
  constructor(error: FetchError, message: string, cause?: unknown) {
    super(message, { cause });
    this.error = error;
  }
}

/** For `throw`, below the fetcher. */
export const crawlFault = (error: FetchError, message: string, cause?: unknown): Error =>
  new CrawlFault(error, message, cause);

/** The run's names for what the guarded client reports; total, so that a new reason has to be decided. */
const names: Record<HttpFailure, FetchError> = {
  blocked_address: 'blocked_address',
  invalid_url: 'internal',
  invalid_headers: 'internal',
  dns: 'dns',
  connect: 'connect',
  tls: 'tls',
  timeout: 'timeout',
  reset: 'reset',
  protocol: 'decode',
  redirect_invalid: 'internal',
  redirect_too_many: 'internal',
  body_truncated: 'body_truncated',
  body_too_large: 'body_too_large',
};

const passing: ReadonlySet<FetchError> = new Set(['dns', 'connect', 'timeout', 'reset', 'body_truncated']);
/** Resolver codes of names that do not exist; any other failure may be temporary. */
const absent = ['ENOTFOUND', 'ENODATA'];

/** The result for what a fetch threw; null when it is no fault of network or peer and has to be thrown on. */
export function asFault(thrown: unknown, spent: Pick<FetchFault, 'bytesWire' | 'durationMs'>): FetchFault | null {
  if (thrown instanceof CrawlFault) return fault(thrown.error, thrown.message, null, spent);
  if (!(thrown instanceof DomainError)) return null;
  const { reason, system } = thrown.details ?? {};
  if (typeof reason !== 'string' || !Object.hasOwn(names, reason)) return null;
  const code = typeof system === 'string' ? system : null;
  const name = code === 'UND_ERR_HEADERS_OVERFLOW' ? 'body_too_large' : names[reason as HttpFailure];
  return fault(name, thrown.message, code, spent);
}

function fault(
  error: FetchError,
  message: string,
  system: string | null,
  spent: Pick<FetchFault, 'bytesWire' | 'durationMs'>,
): FetchFault {
  const isAbsent = error === 'dns' && system !== null && absent.includes(system);
  const retries = passing.has(error) ? (isAbsent ? 1 : 3) : 0;
  return { ok: false, error, message, isRetryable: retries > 0, retries, ...spent };
}
