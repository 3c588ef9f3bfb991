import { codingOf, inflate } from '../webhook/body.ts';
import type { WorkflowServices } from '../workflows.ts';
import type { Delivery } from './delivery.entity.ts';
import { unpackBody } from './kept-body.ts';

const maxDepth = 200;
/** 25 MiB may hold ten million values, which take a parser seconds and a gigabyte; what people push has some 10,000. */
const maxValues = 200_000;

/** What is wrong with a text as JSON, and where: an offset in UTF-16 units. */
interface JsonFault {
  message: string;
  position: number;
}

/**
 * Where a text nests too deep or begins a value too many, judged before a parser makes objects of it; null: nowhere. Text that is no JSON may
 * be judged either way.
 */
function excessAt(text: string): JsonFault | null {
  let depth = 0;
  let values = 1;
  /** The bracket before was an opening one: whatever else follows is the first value in it. */
  let opened = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) continue;
    const isEnd = code === 0x5d || code === 0x7d;
    if (code === 0x2c || (opened && !isEnd)) {
      values += 1;
      if (values > maxValues) return { message: `has more than ${maxValues} values`, position: at };
    }
    opened = false;
    if (code === 0x22) {
      for (at += 1; at < text.length && text.charCodeAt(at) !== 0x22; at += 1)
        if (text.charCodeAt(at) === 0x5c) at += 1;
    } else if (code === 0x5b || code === 0x7b) {
      opened = true;
      depth += 1;
      if (depth > maxDepth) return { message: `is nested more than ${maxDepth} levels deep`, position: at };
    } else if (isEnd) depth -= 1;
  }
  return null;
}

const space = /[ \t\n\r]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

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
      if (code < 0x20 || (code === 0x5c && !take(escapeSequence))) break;
      if (code === 0x5c) continue;
      at += 1;
      if (code === 0x22) return true;
    }
    at = began;
    return false;
  };
  /** Closing brackets still owed, the innermost last. */
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

/** Parses JSON nested at most 200 deep, of at most 200,000 values. */
export function parseJson(text: string): { value: unknown } | { fault: JsonFault } {
  const fault = excessAt(text);
  if (fault !== null) return { fault };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { fault: { message: 'is not valid JSON', position: jsonFaultAt(text) ?? 0 } };
  }
}

/** Removes keys that assignments would take for the prototype, at any depth. @returns whether there were any */
function dropProtoKeys(value: unknown): boolean {
  let dropped = false;
  const left = [value];
  while (left.length > 0) {
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

/** A leading BOM is taken off, unless it is to be left. @returns null when the bytes are no UTF-8 */
function utf8Text(bytes: Uint8Array, { ignoreBOM = false } = {}): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM }).decode(bytes);
  } catch {
    return null;
  }
}

const failed = ({ message, position }: { message: string; position: number | null }): BodyValue => ({
  body: null,
  body_error: { message, position },
});

function ofJson(text: string, note?: string): BodyValue {
  const parsed = parseJson(text);
  if ('fault' in parsed) return failed(parsed.fault satisfies JsonFault);
  const notes = [note, dropProtoKeys(parsed.value) ? protoNote : undefined].filter((one) => one !== undefined);
  return { body: parsed.value, ...(notes.length > 0 && { body_note: notes.join('; ') }) };
}

function ofForm(text: string): BodyValue {
  let pairs = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    pairs += 1;
    if (pairs > maxValues) return failed({ message: `has more than ${maxValues} values`, position: at });
  }
  const form = new URLSearchParams(text);
  const payload = form.getAll('payload');
  // GitHub's default content type.
  if (payload.length === 1) {
    const parsed = ofJson(payload[0] ?? '', 'form payload');
    if (parsed.body_error === undefined) return parsed;
  }
  const fields = new Map<string, string[]>();
  for (const [name, value] of form) {
    const all = fields.get(name);
    if (all) all.push(value);
    else fields.set(name, [value]);
  }
  const isSafe = !fields.delete('__proto__');
  const body = Object.fromEntries([...fields].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
  return { body, ...(!isSafe && { body_note: protoNote }) };
}

const isJson = (type: string) => type === 'application/json' || /^[^/]+\/[^/]+\+json$/.test(type);

/** What decoded bytes mean by their type; null for types that are not understood. */
export function bodyValueOf(bytes: Uint8Array, contentType: string | undefined): BodyValue {
  const { type, charset } = mediaType(contentType);
  const isForm = type === 'application/x-www-form-urlencoded';
  const isText = type.startsWith('text/');
  if (bytes.length === 0 || !utf8.has(charset) || !(isJson(type) || isForm || isText)) return { body: null };
  const text = utf8Text(bytes);
  if (text === null) return failed({ message: 'is not valid UTF-8', position: null });
  if (isJson(type)) return ofJson(text);
  return isForm ? ofForm(text) : { body: text };
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

type Needs = Pick<WorkflowServices, 'blobs' | 'workflows'>;

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

async function decodedValue({ workflows }: Needs, { headers }: Delivery, raw: Buffer): Promise<BodyValue> {
  const type = headers['content-type'];
  const coding = codingOf(headers['content-encoding']);
  if (coding == null) return bodyValueOf(raw, type);
  const pieces: Uint8Array[] = [];
  const found = await inflate({ head: raw, chunks: [raw] }, coding, workflows.limits.body_bytes, (piece) =>
    pieces.push(piece),
  );
  if (found === 'whole') return bodyValueOf(Buffer.concat(pieces), type);
  const message = found === 'corrupt' ? `is not valid ${coding}` : 'is too large when it is inflated';
  return { body: null, body_error: { message, position: null } };
}

/** The input of an execution, derived from the delivery that started it: it is stored nowhere else. */
export async function inputOfDelivery(services: Needs, delivery: Delivery): Promise<DeliveryInput> {
  const { headers, raw_size, raw_sha256, method, query, trigger_id, dedup_key, auth_mode, secret_version } = delivery;
  const raw = await bytesOfDelivery(services, delivery);
  const value: BodyValue =
    raw === null
      ? { body: null, body_error: { message: 'is not kept any more', position: null } }
      : await decodedValue(services, delivery, raw);
  return {
    ...value,
    raw: raw === null || raw.length > maxRaw ? null : utf8Text(raw, { ignoreBOM: true }),
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
