import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { addressBlock } from '../../domain/users/throttle.ts';
import { StartError } from '../start-error.ts';

interface Refusal {
  line: string;
  code: string;
  message: string;
}

const overflow: Refusal = {
  line: '431 Request Header Fields Too Large',
  code: 'invalid_request',
  message: 'The headers are larger than 32768 bytes',
};
const slow: Refusal = {
  line: '408 Request Timeout',
  code: 'request_timeout',
  message: 'The headers did not arrive in time',
};
const malformed: Refusal = { line: '400 Bad Request', code: 'invalid_request', message: 'This is not valid HTTP/1.1' };

function answerOf({ code, message }: Omit<Refusal, 'line'>) {
  const request_id = randomUUID();
  const body = JSON.stringify({ message, error: true, code, request_id });
  return {
    body,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      'X-Request-Id': request_id,
      Connection: 'close',
    },
  };
}

function refusalFor(error: NodeJS.ErrnoException): Refusal {
  if (error.code === 'HPE_HEADER_OVERFLOW') return overflow;
  return error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? slow : malformed;
}

/** Answers what never became a request, with the same body as every other refusal. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { line, ...refusal } = refusalFor(error);
  const { body, headers } = answerOf(refusal);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${line}\r\n${lines.join('')}\r\n${body}`);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const { body, headers } = answerOf({ code: 'invalid_request', message });
  response.writeHead(status, headers).end(body);
}

/**
 * Refuses a request without a Host header, which HTTP/1.1 requires, and one with several, of which a proxy may have read another than we would
 * (RFC 9112 3.2).
 *
 * @returns whether it was refused
 */
function refuseWithoutHost(request: IncomingMessage, response: ServerResponse): boolean {
  const hosts = request.headersDistinct.host?.length ?? 0;
  const isOld = request.httpVersion === '1.0';
  if (hosts === 1 || (hosts === 0 && isOld)) return false;
  refuse(response, 400, hosts === 0 ? 'Host: is required' : 'Host: must be sent once');
  return true;
}

/** Refuses a request that expects anything but `100-continue` (RFC 9110 10.1.1). */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  refuse(response, 417, 'Expect: must be 100-continue, or absent');
}

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

/** So many connections are taken without a look at the limit, which costs some milliseconds to find out. */
const few = 256;

/** How many connections a process keeps: a third of its file descriptors (`ulimit -n`), since each may have a file open, and the database and git need some, too. */
function third(): number {
  // Names of peers would be looked up.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = Number(userLimits?.open_files?.soft);
  return soft > 0 ? Math.max(few, Math.floor(soft / 3)) : Number.POSITIVE_INFINITY;
}

/** Connections of one network, the longest held first. */
interface Held {
  /** No request is under way. */
  idle: Set<Socket>;
  busy: Set<Socket>;
}

const sizeOf = ({ idle, busy }: Held) => idle.size + busy.size;

/**
 * Bounds the connections of a process. One that comes when there is no room takes the place of the one that has been idle the longest in the
 * network that holds the most, so that a client that opens any number of them keeps out no other; where none there is idle, of the oldest.
 */
export class ConnectionLimit {
  #most: number | undefined;
  readonly #blocks = new Map<string, Held>();
  #open = 0;

  /** @param most default: a third of the process's file descriptors */
  constructor(most?: number) {
    this.#most = most;
  }

  /** Counts the connections of a server from now on. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.#add(socket));
  }

  #add(socket: Socket): void {
    const block = addressBlock(socket.remoteAddress);
    const held = this.#blocks.get(block) ?? { idle: new Set(), busy: new Set() };
    this.#blocks.set(block, held);
    held.idle.add(socket);
    this.#open += 1;
    socket.once('close', () => {
      this.#open -= 1;
      held.idle.delete(socket);
      held.busy.delete(socket);
      if (sizeOf(held) === 0) this.#blocks.delete(block);
    });
    if (this.#open > few || this.#most !== undefined) this.#makeRoom();
  }

  /** Counts a connection as busy until a request on it has been answered. */
  begin(socket: Socket, response: ServerResponse): void {
    const held = this.#blocks.get(addressBlock(socket.remoteAddress));
    if (!held?.idle.delete(socket)) return;
    held.busy.add(socket);
    response.once('close', () => {
      if (held.busy.delete(socket) && !socket.destroyed) held.idle.add(socket);
    });
  }

  #makeRoom(): void {
    this.#most ??= third();
    if (this.#open <= this.#most) return;
    let largest: Held | undefined;
    for (const held of this.#blocks.values()) if (!largest || sizeOf(held) > sizeOf(largest)) largest = held;
    const [longest = largest?.busy.values().next().value] = largest?.idle ?? [];
    longest?.destroy();
  }
}

/** Of all servers of this process together. */
const ofProcess = new ConnectionLimit();

/** How many requests of a connection may wait for the answers before theirs. */
const mostAhead = 16;

/**
 * Serves one request of a connection after the other: requests that a client sends ahead (RFC 9112 9.3.2) would each open its file and make its
 * answer at once, to keep both behind an answer that is not read. A client that sends more ahead is cut off.
 */
function oneAtATime(serve: RequestListener): RequestListener {
  const ahead = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    const begin = () => {
      serve(request, response);
      response.once('close', () => {
        const next = socket.writable ? ahead.get(socket)?.shift() : undefined;
        if (next) next();
        else ahead.delete(socket);
      });
    };
    const waiting = ahead.get(socket);
    if (!waiting) {
      ahead.set(socket, []);
      begin();
    } else if (waiting.length < mostAhead) waiting.push(begin);
    else socket.destroy();
  };
}

/**
 * An HTTP server with the limits of a public one: header block 32 KiB, slow headers 10 s, idle connections 65 s.
 * @param stalled milliseconds after which a request or answer of which no byte moves is given up; no operation is silent for as long
 */
export function createHttpServer(app: RequestListener, { stalled = 300_000, connections = ofProcess } = {}): Server {
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
    oneAtATime((request, response) => {
      connections.begin(request.socket, response);
      if (!refuseWithoutHost(request, response)) app(request, response);
    }),
  );
  server.timeout = stalled;
  connections.watch(server);
  return server.on('clientError', answerClientError).on('checkExpectation', refuseExpectation);
}

/** Takes no new connection and waits for the requests under way; what has not ended after `patience` milliseconds is cut. */
export async function closeWithin(server: Server, patience: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection kept alive becomes idle only when the request under way on it has been answered.
  const idle = setInterval(() => server.closeIdleConnections(), 25);
  const cut = setTimeout(() => server.closeAllConnections(), patience);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
