import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../benchmark.ts';
import { freePort } from './server.ts';
import { gitLine } from './stock-git.ts';

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const probe = createConnection(port, '127.0.0.1');
    probe.once('connect', () => resolve(true)).once('error', () => resolve(false));
    probe.once('connect', () => probe.destroy());
  });

/** Serves a directory of repositories by `git daemon`. @returns the address below which they lie */
export async function startDaemon({ defer }: Bench, directory: string): Promise<string> {
  const port = await freePort();
  const program = path.join(await gitLine(directory, ['--exec-path']), 'git-daemon');
  const place = ['--listen=127.0.0.1', `--port=${port}`, `--base-path=${directory}`, '--export-all', directory];
  const child = spawn(program, place, { stdio: 'ignore' });
  defer(() => void child.kill());
  for (let tries = 0; !(await isListening(port)); tries += 1) {
    if (tries > 200) throw new Error('git daemon does not listen');
    await delay(20);
  }
  return `git://127.0.0.1:${port}`;
}

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

/** Serves a directory of repositories by `git http-backend` behind the least of a web server. @returns the address below which they lie */
export async function startBackend({ defer }: Bench, directory: string): Promise<string> {
  const server = createServer((request, response) => {
    answerByBackend(directory, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
