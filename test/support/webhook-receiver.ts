import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request a receiver has got. */
export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Receiver {
  url: string;
  received: ReceivedRequest[];
  /** Connections that were made. */
  connections: number;
  /** How the next requests are answered. */
  answer: (response: ServerResponse, request: ReceivedRequest) => void;
  close(): Promise<void>;
}

/** A webhook's receiver on loopback that keeps what it receives and answers 204, unless configured otherwise. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, text };
    receiver.received.push(one);
    receiver.answer(response, one);
  });
  server.on('connection', () => {
    receiver.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    connections: 0,
    answer: (response) => void response.writeHead(204).end(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
