import { dropProtoKeys, type JsonFault, maxValues, parseJson } from './json-fault.ts';

/** What the body of a call means. */
export interface BodyValue {
  body: unknown;
  /** What was done to it. */
  body_note?: string;
  /** Why it is null although there are bytes; an offset in characters, null where there is none. */
  body_error?: { message: string; position: number | null };
}

const protoNote = '__proto__ keys dropped';
const utf8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/** Type and charset of a Content-Type line (RFC 9110 8.3.1), in lower case. */
function mediaType(header: string | undefined): { type: string; charset: string } {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  const charset = parameters.map((one) => /^charset\s*=\s*"?([^"]*)"?$/i.exec(one)?.[1]).find(Boolean) ?? 'utf-8';
  return { type: type.toLowerCase(), charset: charset.toLowerCase() };
}

/** A leading BOM is taken off, unless it is to be left. @returns null when the bytes are no UTF-8 */
export function utf8Text(bytes: Uint8Array, { ignoreBOM = false } = {}): string | null {
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
