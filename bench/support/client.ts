import { randomUUID } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { Readable } from 'node:stream';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** From the first byte sent to the last byte received. */
  milliseconds: number;
  /** What the server's log calls the request. */
  id: string;
}

interface Options {
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, chunk by chunk. */
  stream?: Iterable<Buffer>;
  /** Default: any 2xx. */
  expect?: number;
}

export interface Client {
  send(path: string, options?: Options): Promise<Answer>;
  close(): void;
}

/** A client with the credential on kept-open connections. `send` throws when the status is another than expected. */
export function createClient(url: string, token: string): Client {
  const agent = new Agent({ keepAlive: true });
  return {
    send: (path, { method = 'GET', headers = {}, body, stream, expect } = {}) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? '' : JSON.stringify(body);
        const type =
          body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
        const id = randomUUID();
        const began = performance.now();
        const sent = request(`${url}${path}`, {
          ...{ agent, method },
          headers: { authorization: `Bearer ${token}`, 'x-request-id': id, ...type, ...headers },
        });
        sent.once('error', reject);
        sent.once('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const milliseconds = performance.now() - began;
            const { statusCode: status = 0, headers: received } = response;
            const answer = { status, headers: received, body: Buffer.concat(chunks), milliseconds, id };
            if (expect === undefined ? status >= 200 && status < 300 : status === expect) resolve(answer);
            else reject(new Error(`${method} ${path}: ${status} ${answer.body.toString('utf8', 0, 500)}`));
          });
        });
        if (stream === undefined) sent.end(text);
        else Readable.from(stream).pipe(sent);
      }),
    close: () => agent.destroy(),
  };
}
