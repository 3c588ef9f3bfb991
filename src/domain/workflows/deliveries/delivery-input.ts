import { isUtf8 } from 'node:buffer';
import {
  type Excess,
  type JsonLimits,
  JsonMeter,
  readSerially,
  smallSize,
  withoutMark,
} from '../../../kernel/json-input.ts';
import { forEachYielding, Pace, yieldLoop } from '../../../lib/concurrency.ts';
import { codingOf, inflate } from '../webhook/body.ts';
import type { WorkflowServices } from '../workflows.ts';
import type { Delivery } from './delivery.entity.ts';
import { unpackBody } from './kept-body.ts';

/** 25 MiB may hold ten million values, which take a parser seconds and a gigabyte; what people push has some 10,000. */
const limits: JsonLimits = { levels: 200, values: 200_000 };
const excessText: Record<Excess['over'], string> = {
  levels: `is nested more than ${limits.levels} levels deep`,
  values: `has more than ${limits.values} values`,
};

/** What is wrong with a text as JSON, and where: an offset in UTF-16 units. */
interface JsonFault {
  message: string;
  position: number;
}

/** Bytes between two checks of the clock. */
const piece = 256 * 1024;

/** Where a text has too many levels or values, judged before a parser makes objects of it; null: nowhere. */
async function excessOf(bytes: Buffer): Promise<JsonFault | null> {
  const meter = new JsonMeter(limits);
  const pace = new Pace();
  for (let from = 0; from < bytes.length; from += piece) {
    const excess = meter.take(bytes, from, Math.min(from + piece, bytes.length));
    if (excess) return { message: excessText[excess.over], position: bytes.toString('utf8', 0, excess.at).length };
    if (pace.isDue) await pace.yield();
  }
  return null;
}

const space = /[ \t\n\r]*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

const escapable = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));
const isHexDigit = (code: number) =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);

/** How long the escape sequence at a place is; 0: it is none. */
function escapeLength(text: string, at: number): number {
  const code = text.charCodeAt(at + 1);
  if (escapable.has(code)) return 2;
  if (code !== 0x75) return 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) if (!isHexDigit(text.charCodeAt(digit))) return 0;
  return 6;
}

/**
 * Where a text stops being JSON (RFC 8259); null when it does not. Only for texts that a parser has refused: parsers do not tell the place of
 * every fault.
 */
export function jsonFaultAt(text: string): number | null {
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  /** A loop, since a pattern that repeats a choice runs out of stack in a string of some megabytes. */
  const takeString = () => {
    const began = at;
    if (text[at] !== '"') return false;
    for (at += 1; at < text.length; ) {
      const code = text.charCodeAt(at);
      // RFC 8259 7 excludes control characters from strings.
      const length = code === 0x5c ? escapeLength(text, at) : 1;
      if (code < 0x20 || length === 0) break;
      at += length;
      if (code === 0x22) return true;
    }
    at = began;
    return false;
  };
  /** Closing brackets still missing, the innermost last. */
  const open: string[] = [];
  const key = () => {
    take(space);
    if (!takeString()) return false;
    take(space);
    if (text[at] !== ':') return false;
    at += 1;
    return true;
  };
  for (;;) {
    // A value.
    take(space);
    const bracket = text[at];
    if (bracket === '[' || bracket === '{') {
      at += 1;
      take(space);
      const end = bracket === '[' ? ']' : '}';
      if (text[at] === end) at += 1;
      else {
        open.push(end);
        if (bracket === '{' && !key()) return at;
        continue;
      }
    } else if (!takeString() && !take(scalar)) return at;
    // What may stand behind a value.
    for (;;) {
      take(space);
      const owed = open.at(-1);
      if (owed === undefined) return at === text.length ? null : at;
      if (text[at] === owed) {
        at += 1;
        open.pop();
        continue;
      }
      if (text[at] !== ',') return at;
      at += 1;
      if (owed === '}' && !key()) return at;
      break;
    }
  }
}

/** Yields to the event loop between the steps in which a large text is read; a small one is read at once. */
const between = async (bytes: Buffer): Promise<void> => void (bytes.length > smallSize && (await yieldLoop()));

/** Parses JSON nested at most 200 deep, of at most 200,000 values. */
export async function parseJson(bytes: Buffer): Promise<{ value: unknown } | { fault: JsonFault }> {
  const fault = await excessOf(bytes);
  if (fault !== null) return { fault };
  const text = bytes.toString('utf8');
  await between(bytes);
  try {
    return { value: JSON.parse(text) };
  } catch {
    await between(bytes);
    return { fault: { message: 'is not valid JSON', position: jsonFaultAt(text) ?? 0 } };
  }
}

/** Removes keys that assignments would take for the prototype, at any depth. @returns whether there were any */
async function dropProtoKeys(value: unknown): Promise<boolean> {
  let dropped = false;
  const pace = new Pace();
  const left = [value];
  while (left.length > 0) {
    if (pace.isDue) await pace.yield();
    const next = left.pop();
    if (next === null || typeof next !== 'object') continue;
    if (Object.hasOwn(next, '__proto__')) {
      dropped = true;
      Reflect.deleteProperty(next, '__proto__');
    }
    for (const item of Array.isArray(next) ? next : Object.values(next)) left.push(item);
  }
  return dropped;
}

/** What the body of a call means. */
interface BodyValue {
  body: unknown;
  /** What was done to it. */
  body_note?: string;
  /** Why it is null although there are bytes; an offset in characters, null where unknown. */
  body_error?: { message: string; position: number | null };
}

const protoNote = '__proto__ keys dropped';
const utf8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/** Type and charset of a Content-Type line (RFC 9110 8.3.1), in lower case. */
function mediaType(header: string | undefined): { type: string; charset: string } {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  const charset = parameters.map((one) => /^charset\s*=\s*(?!\s)"?([^"]*)"?$/i.exec(one)?.[1]).find(Boolean) ?? 'utf-8';
  return { type: type.toLowerCase(), charset: charset.toLowerCase() };
}

const failed = ({ message, position }: { message: string; position: number | null }): BodyValue => ({
  body: null,
  body_error: { message, position },
});

async function ofJson(bytes: Buffer, note?: string): Promise<BodyValue> {
  const parsed = await parseJson(bytes);
  if ('fault' in parsed) return failed(parsed.fault);
  await between(bytes);
  const notes = [note, (await dropProtoKeys(parsed.value)) ? protoNote : undefined].filter((one) => one !== undefined);
  return { body: parsed.value, ...(notes.length > 0 && { body_note: notes.join('; ') }) };
}

const sign = { plus: 0x2b, percent: 0x25, ampersand: 0x26, equals: 0x3d };
const hexValue = (digit: number) => (digit & 15) + (digit > 0x40 ? 9 : 0);

/** A name or value of a form, without its percent-encoding. */
async function decodedPart(part: Buffer, pace: Pace): Promise<Buffer> {
  if (!part.includes(sign.percent) && !part.includes(sign.plus)) return part;
  const decoded = Buffer.allocUnsafe(part.length);
  let size = 0;
  for (let at = 0, due = piece; at < part.length; at += 1, size += 1) {
    const byte = part[at] as number;
    decoded[size] = byte === sign.plus ? 0x20 : byte;
    if (byte === sign.percent && isHexDigit(part[at + 1] ?? 0) && isHexDigit(part[at + 2] ?? 0)) {
      decoded[size] = hexValue(part[at + 1] as number) * 16 + hexValue(part[at + 2] as number);
      at += 2;
    }
    if (at < due) continue;
    due = at + piece;
    if (pace.isDue) await pace.yield();
  }
  return decoded.subarray(0, size);
}

/** Names and values of a form (URL Standard, 5.1), read in steps: `URLSearchParams` takes half a second for one of 25 MiB. */
async function fieldsOf(bytes: Buffer): Promise<[name: string, value: Buffer][] | JsonFault> {
  const pace = new Pace();
  const fields: [string, Buffer][] = [];
  let count = 0;
  for (let from = 0, end = 0; end < bytes.length; from = end + 1) {
    count += 1;
    if (count > limits.values) return { message: excessText.values, position: bytes.toString('utf8', 0, end).length };
    const found = bytes.indexOf(sign.ampersand, from);
    end = found === -1 ? bytes.length : found;
    const pair = bytes.subarray(from, end);
    if (pair.length === 0) continue;
    const equals = pair.indexOf(sign.equals);
    const [name, value] =
      equals === -1 ? [pair, pair.subarray(pair.length)] : [pair.subarray(0, equals), pair.subarray(equals + 1)];
    fields.push([(await decodedPart(name, pace)).toString('utf8'), await decodedPart(value, pace)]);
    if (pace.isDue) await pace.yield();
  }
  return fields;
}

async function ofForm(bytes: Buffer): Promise<BodyValue> {
  const form = await fieldsOf(bytes);
  if (!Array.isArray(form)) return failed(form);
  const [payload, ...more] = form.filter(([name]) => name === 'payload');
  // GitHub's default content type.
  if (payload !== undefined && more.length === 0) {
    const [, value] = payload;
    const parsed = await ofJson(value, 'form payload');
    if (parsed.body_error === undefined) return parsed;
  }
  const fields = new Map<string, string[]>();
  await forEachYielding(form, ([name, value]) => {
    const all = fields.get(name);
    if (all) all.push(value.toString('utf8'));
    else fields.set(name, [value.toString('utf8')]);
  });
  const isSafe = !fields.delete('__proto__');
  const body: Record<string, string | string[] | undefined> = {};
  await forEachYielding(fields, ([name, all]) => {
    body[name] = all.length === 1 ? all[0] : all;
  });
  return { body, ...(!isSafe && { body_note: protoNote }) };
}

const isJson = (type: string) => type === 'application/json' || /^[^/]+\/[^/]+\+json$/.test(type);

/** What decoded bytes mean by their type; null for types that are not understood. Large ones are read one at a time, in steps. */
export async function bodyValueOf(given: Buffer, contentType: string | undefined): Promise<BodyValue> {
  const { type, charset } = mediaType(contentType);
  const isForm = type === 'application/x-www-form-urlencoded';
  const isText = type.startsWith('text/');
  if (given.length === 0 || !utf8.has(charset) || !(isJson(type) || isForm || isText)) return { body: null };
  const read = async () => {
    const bytes = withoutMark(given);
    if (!isUtf8(bytes)) return failed({ message: 'is not valid UTF-8', position: null });
    await between(bytes);
    if (isForm) return ofForm(bytes);
    return isText ? { body: bytes.toString('utf8') } : ofJson(bytes);
  };
  return readSerially(given.length, read);
}

/** Bodies up to so many bytes are given as text beside their value. */
const maxRaw = 1024 * 1024;
const eventHeaders = ['x-github-event', 'x-gitea-event', 'x-gitlab-event'];
/** The event that the sender names in a header; null without one. */
export const eventOf = (headers: Delivery['headers']): string | null =>
  eventHeaders.map((name) => headers[name]).find((event) => event !== undefined) ?? null;

/** What an execution that a webhook has started gets as its input. */
interface DeliveryInput extends BodyValue {
  /** The bytes that were signed, as text. */
  raw: string | null;
  raw_size: number;
  raw_sha256: string;
  method: string;
  query: Record<string, string | string[]>;
  headers: Record<string, string>;
  event: string | null;
  delivery_id: string | null;
  auth: { mode: Delivery['auth_mode']; secret_version: number };
  trigger: { id: string; type: 'webhook' };
}

type Needs = Pick<WorkflowServices, 'blobs' | 'workflows'> & {
  /** Takes memory for what a body inflates to; absent: nothing is sent of it. */
  room?(bytes: number): Promise<void>;
};

/** What tells the size of a delivery: whether its body is kept, and how long it is. */
type DeliverySize = Pick<Delivery, 'raw_size'> & { body?: unknown; body_sha256?: unknown };

/** Bytes that the input of a delivery takes, before its body is inflated: as many as came, twice where they are given as text too. */
export const sizeOfInput = ({ body, body_sha256, raw_size }: DeliverySize): number => {
  if (body == null && body_sha256 == null) return 0;
  return raw_size > maxRaw ? raw_size : 2 * raw_size;
};

/** How many bytes deflate makes of one at most (RFC 1951: 258 for two codes of a bit); brotli has no such limit. */
const mostInflated = 1_032;

/**
 * Bytes that the input of a delivery takes at most once its body is inflated, seen before that.
 * @param coding the header of its coding
 * @param limit of a body that is inflated
 */
export function mostOfInput(delivery: DeliverySize, coding: string | undefined, limit: number): number {
  const size = sizeOfInput(delivery);
  const name = codingOf(coding);
  if (name === null || size === 0) return size;
  return size + (name === 'br' ? limit : Math.min(delivery.raw_size * mostInflated, limit));
}

/** The bytes of a delivery as they came; null when they are not kept any more. */
async function bytesOfDelivery({ blobs }: Pick<Needs, 'blobs'>, delivery: Delivery): Promise<Buffer | null> {
  if (delivery.body != null) return unpackBody(delivery.body, delivery.raw_size);
  if (delivery.body_sha256 != null) {
    const pieces: Buffer[] = [];
    for await (const piece of blobs.read(delivery.body_sha256)) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  return delivery.raw_size === 0 ? Buffer.alloc(0) : null;
}

async function decodedValue({ workflows, room }: Needs, { headers }: Delivery, raw: Buffer): Promise<BodyValue> {
  const type = headers['content-type'];
  const coding = codingOf(headers['content-encoding']);
  if (coding == null) return bodyValueOf(raw, type);
  const pieces: Uint8Array[] = [];
  const found = await inflate({ head: raw, chunks: [raw] }, coding, workflows.limits.body_bytes, (piece) =>
    pieces.push(piece),
  );
  if (found === 'whole') {
    await room?.(pieces.reduce((sum, piece) => sum + piece.length, 0));
    return bodyValueOf(Buffer.concat(pieces), type);
  }
  const message = found === 'corrupt' ? `is not valid ${coding}` : 'is too large when it is inflated';
  return { body: null, body_error: { message, position: null } };
}

/** The input of an execution, derived from the delivery that started it: it is stored nowhere else. */
export async function inputOfDelivery(services: Needs, delivery: Delivery): Promise<DeliveryInput> {
  const { headers, raw_size, raw_sha256, method, query, trigger_id, dedup_key, auth_mode, secret_version } = delivery;
  const raw = await bytesOfDelivery(services, delivery);
  if (raw !== null) await between(raw);
  const value: BodyValue =
    raw === null
      ? { body: null, body_error: { message: 'is not kept any more', position: null } }
      : await decodedValue(services, delivery, raw);
  return {
    ...value,
    raw: raw === null || raw.length > maxRaw || !isUtf8(raw) ? null : raw.toString('utf8'),
    raw_size,
    raw_sha256,
    method,
    query,
    headers,
    event: eventOf(headers),
    delivery_id: dedup_key ?? null,
    auth: { mode: auth_mode, secret_version },
    trigger: { id: trigger_id, type: 'webhook' },
  };
}
