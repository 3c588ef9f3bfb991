import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

const refusal = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** A forward proxy that lets nothing through. */
export interface ClosedDoor {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  /** First lines of what was refused, the newest last; at most 100. */
  refused: readonly string[];
  close(): Promise<void>;
}

/** Opens a proxy that refuses whatever comes, whoever asks. What a browser sends on its own ends here. */
export async function openClosedDoor(): Promise<ClosedDoor> {
  const refused: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(5_000, () => socket.destroy());
    socket.once('data', (first) => {
      refused.push(first.toString('latin1').split('\r\n', 1)[0]?.slice(0, 200) ?? '');
      if (refused.length > 100) refused.shift();
      socket.end(refusal);
      socket.resume();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    refused,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
