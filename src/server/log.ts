import { write, writeSync } from 'node:fs';
import { type DestinationStream, pino, stdSerializers } from 'pino';
import { redactText } from '../lib/text.ts';
import type { Log } from '../ports/log.ts';

const secretKeys = [
  'password',
  'secret',
  'token',
  'authorization',
  'cookie',
  'set-cookie',
  'setup',
  'proxy-authorization',
];

/** Hides values by their key, at any depth the log prints. */
function redactKeys(value: unknown, hidden: ReadonlySet<string>, depth = 0): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Error || depth > 6) return value;
  if (Array.isArray(value)) return value.map((item) => redactKeys(item, hidden, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      hidden.has(key.toLowerCase()) && item != null ? '[redacted]' : redactKeys(item, hidden, depth + 1),
    ]),
  );
}

/** What is logged of an error: an object that hangs on one (a connection, a request) can hold anything, and stays out. */
function errorFields(error: unknown, hidden: ReadonlySet<string>): unknown {
  if (!(error instanceof Error)) return redactKeys(error, hidden);
  const fields = Object.entries(stdSerializers.err(error));
  const plain = fields.filter(([key, value]) => key === 'details' || Object(value) !== value);
  const errors = error instanceof AggregateError && error.errors.map((one) => errorFields(one, hidden));
  return { ...(redactKeys(Object.fromEntries(plain), hidden) as object), ...(errors && { errors }) };
}

/** Characters of lines that wait to be written. */
const mostWaiting = 4 * 1024 * 1024;
/** After what could not be written is tried again; milliseconds. */
const retryAfter = 100;
/** How long the end of the process waits for a reader of its output; milliseconds. */
const lastWait = 3_000;
/** Sleeps without the event loop. */
const sleep = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

/**
 * Writes lines to an open file, those together that came while others were being written. On a full disk they wait, and what is too much is left out
 * and counted: a server goes on without its log. What is left is written when the process exits, if it can be.
 */
export class LineOutput implements DestinationStream {
  readonly #file: number;
  #waiting = '';
  #leftOut = 0;
  /** What is being written. */
  #batch: Buffer = Buffer.alloc(0);
  #state: 'idle' | 'writing' | 'failed' = 'idle';

  /** @param file its descriptor */
  constructor(file: number) {
    this.#file = file;
    process.on('exit', () => this.flushSync());
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > mostWaiting) this.#leftOut += 1;
    else this.#waiting += line;
    if (this.#state === 'idle') this.#next();
  }

  /** Writes what waits, without the event loop. What cannot be written is given up, on a full disk at once. */
  flushSync(): void {
    // What is being written is on its way.
    const failed = this.#state === 'failed' ? [this.#batch] : [];
    let rest = Buffer.concat([...failed, Buffer.from(this.#takeWaiting())]);
    this.#batch = Buffer.alloc(0);
    for (let waited = 0; rest.length > 0; ) {
      try {
        rest = rest.subarray(writeSync(this.#file, rest));
      } catch (error) {
        // There is nowhere to say so.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waited >= lastWait) return;
        sleep(retryAfter);
        waited += retryAfter;
      }
    }
  }

  #next(): void {
    if (this.#batch.length === 0) this.#batch = Buffer.from(this.#takeWaiting());
    this.#state = this.#batch.length === 0 ? 'idle' : 'writing';
    if (this.#state === 'idle') return;
    write(this.#file, this.#batch, (error, written) => {
      this.#state = error ? 'failed' : 'writing';
      if (error) return void setTimeout(() => this.#next(), retryAfter).unref();
      this.#batch = this.#batch.subarray(written);
      this.#next();
    });
  }

  #takeWaiting(): string {
    const [lines, count] = [this.#waiting, this.#leftOut];
    [this.#waiting, this.#leftOut] = ['', 0];
    if (count === 0) return lines;
    const notice = {
      level: 'warn',
      time: new Date().toISOString(),
      count,
      msg: 'lines of the log could not be written',
    };
    return `${lines}${JSON.stringify(notice)}\n`;
  }
}

/**
 * The process's log: one JSON line per event, redacted here so that no call site has to.
 * @param destination standard output unless a test listens.
 */
export function createLog(options: {
  level: string;
  redactHeaders: readonly string[];
  destination?: DestinationStream;
}): Log {
  const hidden = new Set([...secretKeys, ...options.redactHeaders.map((name) => name.toLowerCase())]);
  const settings = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => redactKeys(fields, hidden) as Record<string, unknown>,
    },
    serializers: { err: (error: unknown) => errorFields(error, hidden) },
    hooks: { streamWrite: redactText },
  };
  if (options.destination) return pino(settings, options.destination);
  if (!process.stdout.isTTY) return pino(settings, new LineOutput(process.stdout.fd));
  return pino({
    ...settings,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } },
  });
}
