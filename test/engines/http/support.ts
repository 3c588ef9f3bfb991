import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createGuardedHttp, type GuardedHttpOptions } from '../../../src/engines/http/guarded-http.ts';
import { DomainError } from '../../../src/kernel/errors.ts';

/** A plain HTTP server on 127.0.0.1 until the test ends; answers its port. */
export async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A client until the test ends; loopback is allowed unless the test says otherwise. */
export function client(options: Partial<GuardedHttpOptions> = {}) {
  const http = createGuardedHttp({ allowedCidrs: ['127.0.0.0/8'], ...options });
  onTestFinished(() => http.close());
  return http;
}

/** The DomainError a call rejects with. */
export async function failure(call: Promise<unknown>): Promise<DomainError> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (error instanceof DomainError) return error;
  throw error;
}
