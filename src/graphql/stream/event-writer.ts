import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';

/** Milliseconds. */
export interface StreamTimes {
  /** Between two comments that keep the connection open. */
  heartbeat: number;
  /** How long a reader may leave an event unread before he is cut off. */
  patience: number;
}

/**
 * Writes server-sent events as the protocol of GraphQL over SSE names them (its distinct connections mode): `next` for each result, `complete`
 * when none follows.
 */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #patience: number;
  readonly #heart: NodeJS.Timeout;

  constructor(response: ServerResponse, { heartbeat, patience }: StreamTimes) {
    this.#response = response;
    this.#patience = patience;
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'private, no-store, no-transform',
      // Proxies that gather answers would hold events back.
      'X-Accel-Buffering': 'no',
    });
    response.write(':\n\n');
    this.#heart = setInterval(() => {
      if (!response.writableNeedDrain) response.write(':\n\n');
    }, heartbeat);
    response.once('close', () => clearInterval(this.#heart));
  }

  /** Writes one result, and waits until the reader has taken it. A reader that does not is cut off. */
  async next(result: FormattedExecutionResult, id: string | null): Promise<void> {
    const lines = [...(id === null ? [] : [`id: ${id}`]), 'event: next', `data: ${JSON.stringify(result)}`];
    if (this.#response.destroyed || this.#response.write(`${lines.join('\n')}\n\n`)) return;
    await this.#taken();
  }

  async #taken(): Promise<void> {
    const over = new AbortController();
    const options = { signal: AbortSignal.any([over.signal, AbortSignal.timeout(this.#patience)]) };
    try {
      await Promise.race([once(this.#response, 'drain', options), once(this.#response, 'close', options)]);
    } catch {
      this.#response.destroy();
    } finally {
      over.abort();
    }
  }

  complete(): void {
    this.#end('event: complete\ndata: \n\n');
  }

  /** Ends without saying that all has been said, so that the client comes back. */
  interrupt(): void {
    this.#end(': the server is stopping\n\n');
  }

  #end(last: string): void {
    clearInterval(this.#heart);
    if (!this.#response.destroyed) this.#response.end(last);
  }
}
