import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { workFor } from '../../src/lib/concurrency.ts';
import type { GitStore } from '../../src/ports/git.ts';
import type { GitServeRequest } from '../../src/ports/git-transfer.ts';

/** Answers a request itself (true), before git is called. */
type Guard = (request: IncomingMessage, response: ServerResponse) => boolean;

interface HttpOptions {
  authorizePush?: NonNullable<GitServeRequest['authorizePush']>;
  guard?: Guard;
  /** Whose request it is; default: all come from one client. */
  client?(request: IncomingMessage): string;
  /** Spoken through TLS. */
  tls?: { key: Buffer; cert: Buffer };
}

/** A guard that requires a sign-in by HTTP Basic. */
export function signIn(pair: string): Guard {
  const wanted = `Basic ${Buffer.from(pair).toString('base64')}`;
  return (request, response) => {
    if (request.headers.authorization === wanted) return false;
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    return true;
  };
}

/**
 * The least of git's smart HTTP around `store.serve`: any repository, and no rights but those of the options. `port` on 127.0.0.1;
 * closed after the test.
 */
export async function gitOverHttp(
  store: GitStore,
  options: HttpOptions = {},
): Promise<{ port: number; url(id: string): string; refusals: string[] }> {
  const refusals: string[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    if (options.guard?.(request, response)) return;
    answer(store, request, response, options).catch((error: { code?: string }) => {
      refusals.push(error.code ?? String(error));
      if (response.headersSent) response.destroy();
      else response.writeHead(error.code === 'rate_limited' ? 429 : 500).end();
    });
  };
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: (id) => `http://127.0.0.1:${port}/${id}.git`, refusals };
}

async function answer(
  store: GitStore,
  request: IncomingMessage,
  response: ServerResponse,
  { authorizePush, client }: HttpOptions,
): Promise<void> {
  const url = new URL(request.url ?? '', 'http://host');
  const [, id = '', action = ''] = /^\/([^/]+)\.git\/(.+)$/.exec(url.pathname) ?? [];
  const advertise = action === 'info/refs';
  const service = (advertise ? url.searchParams.get('service') : action) as GitServeRequest['service'];
  const aborted = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) aborted.abort(new Error('the client went away'));
  });
  response.setHeader('content-type', `application/x-${service}-${advertise ? 'advertisement' : 'result'}`);
  const caller = client?.(request) ?? 'client';
  const serve = () =>
    store.serve(id, {
      client: caller,
      service,
      advertise,
      protocol: (request.headers['git-protocol'] as string | undefined) ?? null,
      input: request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request,
      output: response,
      signal: aborted.signal,
      ...(authorizePush === undefined ? {} : { authorizePush }),
    });
  await workFor(caller, serve);
  response.end();
}

/** Serves a push to the repository `site` by its bytes alone, of which all is allowed. The output ends with it. */
export function servePush(store: GitStore, body: string, more: Partial<GitServeRequest> = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.end(body);
  const served = store
    .serve('site', {
      client: 'client',
      service: 'git-receive-pack',
      advertise: false,
      protocol: null,
      input,
      output,
      signal: new AbortController().signal,
      authorizePush: async () => ({ allow: true }),
      ...more,
    })
    .finally(() => output.end());
  return { output, served };
}
