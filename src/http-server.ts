import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerClientError, refuseExpectation, refuseWithoutHost } from './client-error.ts';
import { StartError } from './start-error.ts';

/**
 * Listens, 0 for any port.
 * @param setting that names the port
 * @returns the port. @throws StartError, for the user, when it cannot be taken
 */
export function listenOn(server: Server, port: number, host: string, setting: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `is in use; set ${setting} to another one, or 0 for any`
          : `cannot be taken (${error.code}); see ${setting}`;
      reject(new StartError(`Port ${port} on ${host} ${reason}`));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/** An HTTP server with the limits of a public one: header block 32 KiB, slow headers 10 s, idle connections 65 s. */
export function createHttpServer(app: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: 32 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 3600_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 1_000,
      // Node itself would answer without a body.
      requireHostHeader: false,
    },
    (request, response) => {
      if (!refuseWithoutHost(request, response)) app(request, response);
    },
  );
  return server.on('clientError', answerClientError).on('checkExpectation', refuseExpectation);
}
