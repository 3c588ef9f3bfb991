import { Readable } from 'node:stream';
import type { Exchange, ExchangeRequest, Flow } from '../../domain/ports/exchange.ts';
import type { FetchedHeaders } from '../../domain/ports/fetcher.ts';
import { drainedBytes, gatheredBytes } from './limits.ts';

/** An answer's head, and its body as it is on the wire: whole when it is small, flowing when not, null when nobody wants it. */
export interface Received {
  status: number;
  headers: FetchedHeaders;
  body: Buffer | Readable | null;
}

/** Counts what comes, also when the exchange fails. */
export interface Tally {
  wire: number;
}

/**
 * Sends a request and gathers its answer.
 * @param wants whether the body is needed; may throw, which ends the exchange
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
      // It may fail before its reader has begun, who is told then; an error nobody hears would end the process.
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
        // What nobody wants cannot be missed: its head is the answer.
        else if (head !== undefined && !isWanted && !request.signal?.aborted) resolve({ ...head, body: null });
        else reject(error);
      },
    });
  });
}

const joined = (chunks: Buffer[]): Buffer => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
