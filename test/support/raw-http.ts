import { request } from 'node:http';
import { connect } from 'node:net';
import type { Answer, TestApp } from './app.ts';

interface Raw {
  token?: string | null;
  body?: string | Buffer;
  headers?: Record<string, string | string[]>;
}

/** Asks with a path sent as it is: `fetch` would resolve `%2e%2e` and `//` before the server sees them. */
export function askRaw(app: TestApp, method: string, path: string, options: Raw = {}): Promise<Answer> {
  const { token = app.token, body, headers = {} } = options;
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      hostname,
      port,
      method,
      path,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = response.headers['content-type']?.startsWith('application/json');
        const given = new Headers();
        for (let at = 0; at < response.rawHeaders.length; at += 2)
          given.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '');
        resolve({ status: response.statusCode ?? 0, headers: given, body: isJson && text ? JSON.parse(text) : text });
      });
    });
    outgoing.end(body);
  });
}

/** Sends bytes over a connection of its own. @returns all that came back until the server closed it. */
export function overSocket(app: TestApp, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('error', reject);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}
