import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Answers one request by `git http-backend`, a CGI program (RFC 3875). */
async function answerByBackend(directory: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  const { headers } = request;
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
  });
  child.stdin.on('error', () => {});
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  while (head.indexOf('\r\n\r\n') < 0) {
    const chunk: Buffer | null = child.stdout.read();
    if (chunk) head = Buffer.concat([head, chunk]);
    else await once(child.stdout, 'readable');
  }
  const end = head.indexOf('\r\n\r\n');
  for (const line of head.toString('latin1', 0, end).split('\r\n')) {
    const [name = '', value = ''] = line.split(/: */, 2);
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.write(head.subarray(end + 4));
  child.stdout.pipe(response);
}

/** A web server on loopback, and the address below which its repositories lie. */
export interface GitBackend {
  url: string;
  stop(): void;
}

/**
 * Serves a directory of repositories by `git http-backend` behind the least of a web server.
 * @param tls spoken through TLS
 */
export async function startGitBackend(directory: string, tls?: { key: Buffer; cert: Buffer }): Promise<GitBackend> {
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answerByBackend(directory, request, response).catch(() => response.destroy());
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
