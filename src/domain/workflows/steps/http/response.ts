import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { isDeeper } from '../../../json-input.ts';
import type { HttpResponse } from '../../../ports/http.ts';
import type { HttpStep } from './request.ts';

/** Largest answer, after decoding. */
export const mostBytes = 10 * 1024 * 1024;
/** Levels of JSON, as in the bodies of webhooks. */
const mostLevels = 200;

export class ResponseError extends Error {
  override name = 'ResponseError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const decoders: Record<string, (content: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

async function decoded(content: Uint8Array, coding: string): Promise<Buffer> {
  if (coding === '' || coding === 'identity') return Buffer.from(content);
  const decode = decoders[coding];
  if (decode === undefined)
    throw new ResponseError('invalid_response', `is encoded as ${coding}, which was not asked for`);
  try {
    return await decode(content, { maxOutputLength: mostBytes });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
      throw new ResponseError('too_large', `is larger than ${mostBytes} bytes`);
    throw new ResponseError('invalid_response', `cannot be decoded from ${coding}`);
  }
}

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : (value ?? ''));

function textOf(content: Buffer, type: string): string {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w:.-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset).decode(content);
  } catch {
    return new TextDecoder().decode(content);
  }
}

const isJson = (type: string) => /^[\w.+-]+\/(?:[\w.-]+\+)?json\b/i.test(type);
const isText = (type: string) => /^text\/|\b(?:xml|javascript|yaml|x-www-form-urlencoded)\b/i.test(type);

function readBody(content: Buffer, type: string, wanted: HttpStep['response']): unknown {
  const kind = wanted ?? (isJson(type) ? 'json' : isText(type) ? 'text' : 'none');
  if (kind === 'none' || (content.length === 0 && kind === 'json')) return null;
  if (kind === 'bytes') return content.toString('base64');
  if (kind === 'text') return textOf(content, type);
  const text = textOf(content, type);
  if (isDeeper(Buffer.from(text), mostLevels))
    throw new ResponseError('invalid_response', `is nested more than ${mostLevels} levels deep`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ResponseError('invalid_response', 'is not JSON');
  }
}

/** What later steps see of an answer. */
export interface HttpOutput {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/**
 * Reads an answer under its caps: JSON is parsed, text decoded, bytes told in base64; other types have no body unless asked for.
 * @throws ResponseError, DomainError of the client for a broken body
 */
export async function readResponse(response: HttpResponse, wanted: HttpStep['response']): Promise<HttpOutput> {
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, one(value)]));
  const type = headers['content-type'] ?? '';
  const content = await decoded(await response.bytes(), (headers['content-encoding'] ?? '').trim().toLowerCase());
  if (content.length > mostBytes) throw new ResponseError('too_large', `is larger than ${mostBytes} bytes`);
  // Cookies are for the peer's own clients, and nothing here sends them back.
  const { 'set-cookie': _cookie, ...shown } = headers;
  return { status: response.status, headers: shown, body: readBody(content, type, wanted) };
}

/** Milliseconds that `Retry-After` asks to wait (RFC 9110 10.2.3), up to an hour; undefined without a usable one. */
export function retryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now.getTime();
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), 3_600_000) : undefined;
}
