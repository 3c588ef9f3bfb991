/**
 * JSON that callers send, read without holding everything else up. Its text is measured while it comes in: nesting and number of values are
 * bounded, since a parser, and whatever walks the result, takes far longer for many small values than for the same bytes in a few. What is
 * large is read one at a time, in steps between which the process serves others.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { yieldLoop } from '../lib/concurrency.ts';
import { Tally } from '../lib/fair-queue.ts';
import { DomainError, fieldError } from './errors.ts';

/** What an input may hold: containers within containers, the whole included; values of every kind, containers included. */
export const inputLimits = { levels: 100, values: 100_000 } as const;

export interface JsonLimits {
  levels: number;
  values: number;
}

export type Excess = { over: 'levels' | 'values'; at: number };

/** Bodies of so many bytes are parsed without a pause, and not counted among what large bodies hold. */
export const smallSize = 64 * 1024;

/** Who sends a body, by the id of an actor; null: unknown. */
type Sender = string | null;

/**
 * Memory that large bodies hold in this process until they are read, bytes. A compressed one takes a thousand times what its sender sends, and a
 * minute may pass before it is whole. One caller has half of all, so that others get through; unknown callers share a quarter.
 */
class BodyMemory {
  static readonly #most = { all: 256 * 1024 * 1024, caller: 128 * 1024 * 1024, unknown: 64 * 1024 * 1024 };
  readonly #held = new Tally();

  /** @returns false when there is no room: nothing is taken */
  take(sender: Sender, bytes: number): boolean {
    const { all, caller, unknown } = BodyMemory.#most;
    const held = this.#held.of(sender ?? '') + bytes;
    if (this.#held.all + bytes > all || held > (sender === null ? unknown : caller)) return false;
    this.#held.add(bytes, sender ?? '');
    return true;
  }

  giveBack(sender: Sender, bytes: number): void {
    this.#held.add(-bytes, sender ?? '');
  }
}
const memory = new BodyMemory();

const code = { quote: 0x22, backslash: 0x5c, comma: 0x2c, openList: 0x5b, closeList: 0x5d, open: 0x7b, close: 0x7d };

/** Counts levels and values of a JSON text, piece by piece. Text that is no JSON may be judged either way. */
export class JsonMeter {
  readonly #limits: JsonLimits;
  #inString = false;
  #escaped = false;
  #depth = 0;
  #values = 1;
  /** The bracket before was an opening one: whatever else follows is the first value in it. */
  #opened = false;

  constructor(limits: JsonLimits = inputLimits) {
    this.#limits = limits;
  }

  /** How many there were so far: at least the text itself. */
  get values(): number {
    return this.#values;
  }

  /** @returns what is beyond the limits and the offset of the byte; null: nothing, so far */
  take(bytes: Uint8Array, from = 0, to = bytes.length): Excess | null {
    const { levels, values: most } = this.#limits;
    let { inString, escaped, depth, values, opened } = this.#state();
    let over: Excess | null = null;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === code.backslash) escaped = true;
        else if (byte === code.quote) inString = false;
        continue;
      }
      // Space between tokens, of which there may be any amount.
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
      if (byte === code.closeList || byte === code.close) {
        opened = false;
        depth -= 1;
        continue;
      }
      if (opened || byte === code.comma) {
        opened = false;
        values += 1;
        if (values > most) {
          over = { over: 'values', at };
          break;
        }
      }
      if (byte === code.quote) inString = true;
      else if (byte === code.openList || byte === code.open) {
        opened = true;
        depth += 1;
        if (depth > levels) {
          over = { over: 'levels', at };
          break;
        }
      }
    }
    this.#inString = inString;
    this.#escaped = escaped;
    this.#depth = depth;
    this.#values = values;
    this.#opened = opened;
    return over;
  }

  #state() {
    return {
      inString: this.#inString,
      escaped: this.#escaped,
      depth: this.#depth,
      values: this.#values,
      opened: this.#opened,
    };
  }
}

/** Whether a JSON text goes further down than so many levels. Its parser takes any depth; what walks its value recurses. */
export const isDeeper = (text: Uint8Array, levels: number): boolean =>
  new JsonMeter({ levels, values: Number.POSITIVE_INFINITY }).take(text) !== null;

const excessText = ({ levels, values }: JsonLimits = inputLimits): Record<Excess['over'], string> => ({
  levels: `is nested more than ${levels} levels deep; send flatter data`,
  values: `has more than ${values} values; split it into several requests`,
});

const bodyError = (problem: string, cause?: unknown) =>
  new DomainError('invalid_request', `body: ${problem}`, cause === undefined ? {} : { cause });
const notSupported = () =>
  new DomainError('unsupported_media', 'body: its encoding is not supported; send UTF-8, plain or gzip');
const tooLarge = (limit: number) => new DomainError('too_large', `body: must be at most ${limit} bytes`);

/** The charset a Content-Type names must be the one JSON has (RFC 8259, 8.1). */
const isOtherCharset = (type: string | undefined) =>
  !/^utf-?8$/i.test(/;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type ?? '')?.[1] ?? 'utf-8');

/** A request's body as it comes, out of what it was compressed by (RFC 9110, 8.4). */
function plainBody(request: BodySource): Readable {
  const coding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding === 'identity') return request;
  const inflate =
    coding === 'gzip' || coding === 'x-gzip'
      ? createGunzip()
      : coding === 'deflate'
        ? createInflate()
        : coding === 'br'
          ? createBrotliDecompress()
          : null;
  if (!inflate) throw notSupported();
  request.once('aborted', () => inflate.destroy(bodyError('ended before its announced length')));
  return request.pipe(inflate);
}

const noRoom = () =>
  new DomainError('unavailable', 'Too many large bodies are being received at the moment; try again in a few seconds');

/** A body as it came in. */
interface Collected {
  chunks: readonly Buffer[];
  size: number;
  /** Counted in `memory`, to be given back once the body is read. */
  held: number;
}

interface Collecting {
  /** Bytes, out of what they were compressed by. */
  limit: number;
  sender: Sender;
  /** Looks at the bytes as they come. @returns what is wrong with them */
  look?: (bytes: Buffer) => DomainError | null;
}

/** Joining the pieces of a large body takes as long as reading it does: many of them end in one iteration of the event loop. */
const joined = ({ chunks, size }: Collected): Buffer => Buffer.concat(chunks, size);

/** The bytes of a body, measured while they come in, so that nothing is kept of one that goes too far. */
function collect(request: BodySource, { limit, sender, look }: Collecting): Promise<Collected> {
  const announced = Number(request.headers['content-length'] ?? 0);
  const isPlain = request.headers['content-encoding'] === undefined;
  if (isPlain && announced > limit) throw tooLarge(limit);
  const body = plainBody(request);
  const chunks: Buffer[] = [];
  let size = 0;
  let held = 0;
  const hold = (): boolean => {
    if (size <= smallSize) return true;
    if (!memory.take(sender, size - held)) return false;
    held = size;
    return true;
  };
  return new Promise((resolve, reject) => {
    const finish = (error: unknown) => {
      body.off('data', onData).off('end', onEnd).off('aborted', onAborted);
      // What is still on its way is read and forgotten: the sender gets its answer.
      if (error) {
        request.unpipe();
        if (body === request) request.resume();
        else body.destroy();
        chunks.length = 0;
        memory.giveBack(sender, held);
        held = 0;
        reject(error);
      } else {
        resolve({ chunks, size, held });
        held = 0;
      }
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      const fault = size > limit ? tooLarge(limit) : (look?.(chunk) ?? (hold() ? null : noRoom()));
      if (fault) finish(fault);
      else chunks.push(chunk);
    };
    const onEnd = () =>
      isPlain && size < announced ? finish(bodyError('ended before its announced length')) : finish(null);
    const onAborted = () => finish(bodyError('ended before its announced length'));
    const onError = (cause: Error) => {
      const isOurs = cause instanceof DomainError || body === request;
      finish(isOurs ? cause : bodyError(`is not valid ${request.headers['content-encoding']}`, cause));
    };
    body.on('data', onData).once('end', onEnd).once('aborted', onAborted).on('error', onError);
  });
}

/** Bytes of UTF-8 without a mark of their order in front. */
export const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

const textOf = (bytes: Buffer) => withoutMark(bytes).toString('utf8');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw bodyError('is not valid JSON');
  }
}

// The decoder would replace a broken byte, and the replacement would be saved.
function checkUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw bodyError('is not valid UTF-8');
}

async function parseLarge(body: Collected): Promise<unknown> {
  const bytes = joined(body);
  await yieldLoop();
  checkUtf8(bytes);
  await yieldLoop();
  const text = textOf(bytes);
  await yieldLoop();
  const value = parsed(text);
  await yieldLoop();
  return value;
}

/** Settled once all large texts so far have been read. */
let last: Promise<void> = Promise.resolve();

/**
 * Reads a text; a large one once those before it have been read and what follows has begun to use their values.
 * @param size bytes
 */
export async function readSerially<T>(size: number, read: () => Promise<T>): Promise<T> {
  if (size <= smallSize) return read();
  const before = last;
  const { promise, resolve } = Promise.withResolvers<void>();
  last = promise;
  await before;
  try {
    return await read();
  } finally {
    setImmediate(resolve);
  }
}

/** A request as far as its body goes. */
export type BodySource = Readable & {
  headers: Record<string, string | string[] | undefined> & {
    'content-type'?: string | undefined;
    'content-encoding'?: string | undefined;
    'content-length'?: string | undefined;
  };
};

/**
 * Reads the body of a request as it is, out of what it was compressed by.
 * @param limit bytes
 * @throws DomainError `too_large`; `unavailable` when the memory of large bodies is full; `unsupported_media`; `invalid_request` when it is cut off
 */
export async function readBytes(request: BodySource, limit: number, sender: Sender): Promise<Buffer> {
  const body = await collect(request, { limit, sender });
  memory.giveBack(sender, body.held);
  return joined(body);
}

/**
 * Reads the JSON body of a request.
 * @param limit bytes, out of what they were compressed by
 * @throws DomainError `invalid_request` for what is no JSON, no UTF-8, or beyond the limits; `too_large`; `unavailable` when the memory of large
 *   bodies is full; `unsupported_media`
 */
export async function readJsonBody(request: BodySource, limit: number, sender: Sender): Promise<unknown> {
  if (isOtherCharset(request.headers['content-type'])) throw notSupported();
  const meter = new JsonMeter();
  const look = (bytes: Buffer) => {
    const excess = meter.take(bytes);
    return excess && bodyError(excessText()[excess.over]);
  };
  const body = await collect(request, { limit, sender, look });
  if (body.size === 0) return {};
  if (body.size <= smallSize) {
    const bytes = joined(body);
    checkUtf8(bytes);
    return parsed(textOf(bytes));
  }
  return readSerially(body.size, () => parseLarge(body)).finally(() => memory.giveBack(sender, body.held));
}

/** A container that is still to be looked through. */
interface Pending {
  /** The field of the input it stands in. */
  field: string;
  value: object;
  level: number;
}

/** What a look at each value of an input has found. */
export interface Measured {
  /** How many there are below its fields. */
  values: number;
  /** Whether an object among them has a key `__proto__`. */
  hasProto: boolean;
}

/** Whether a value is an object or list of data: bytes, dates and the like are one value. */
function isContainer(value: unknown): value is object {
  if (value === null || typeof value !== 'object') return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Looks once at every value below the named fields of an input, before anything else walks them.
 * @param isKnown fields to look at; the others are ignored whole
 * @throws DomainError `invalid_request` when it is beyond the limits
 */
export function measureValues(input: object, isKnown: (name: string) => boolean): Measured {
  const { levels, values: most } = inputLimits;
  let values = 1;
  let hasProto = false;
  const left: Pending[] = [];
  const look = (field: string, value: unknown, level: number) => {
    if (!isContainer(value)) return;
    if (level > levels) throw fieldError('invalid_request', field, excessText().levels);
    left.push({ field, value, level });
  };
  for (const name of Object.keys(input)) if (isKnown(name)) look(name, (input as Record<string, unknown>)[name], 2);
  for (let next = left.pop(); next; next = left.pop()) {
    const { field, value, level } = next;
    const names = Array.isArray(value) ? null : Object.keys(value);
    values += names ? names.length : (value as unknown[]).length;
    if (values > most) throw fieldError('invalid_request', field, excessText().values);
    if (names === null) for (const item of value as unknown[]) look(field, item, level + 1);
    else {
      hasProto ||= Object.hasOwn(value, '__proto__');
      for (const name of names) look(field, (value as Record<string, unknown>)[name], level + 1);
    }
  }
  return { values, hasProto };
}
