import type { Request, Response } from 'express';
import type { z } from 'zod';
import { DomainError, fieldError } from '../kernel/errors.ts';
import { inputLimits, readBytes, readJsonBody, smallSize } from '../kernel/json-input.ts';
import type { Call } from '../kernel/operation.ts';
import { admit, admitByPath } from '../kernel/run.ts';
import { isRecord } from '../lib/objects.ts';
import type { Spool } from '../ports/spool.ts';
import { defaultBodyLimit, mebibyte, type Row } from './table.ts';
import { readMultipart } from './upload.ts';

const jsonTypes = ['application/json', 'application/*+json'];

const hasBody = (request: Request) =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

const isShort = ({ headers }: Request) => Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= smallSize;

type Parts = Pick<Call, 'uploads' | 'signed'>;

/** Reads a body; the files of a multipart one are in the spool, for as long as it is open. */
type BodyReader = (request: Request, response: Response, call: Call, spool: Spool) => Promise<Parts>;

/** A body that only its signature vouches for: it is kept as it came. */
const signedReader =
  (header: string): BodyReader =>
  async (request, _response, { actor }) => {
    const body = await readBytes(request, mebibyte, actor?.id ?? null);
    return { signed: { body, signature: request.get(header) ?? null } };
  };

/**
 * Reads the JSON body of a row's requests into `request.body`; of a multipart body the fields.
 * @returns the files of a multipart body; the bytes of a signed one.
 * @throws DomainError for another type, or what Express's parser throws
 */
export function bodyReader(row: Row): BodyReader {
  if (row.signedBy !== undefined) return signedReader(row.signedBy);
  return async (request, _response, call, spool) => {
    if (row.multipart && request.is('multipart/form-data')) {
      const { operation } = row;
      await admit(operation, call, inputOf(row, request), null);
      const { fields, files } = await readMultipart(request, {
        spool,
        limit: call.services.settings.media_limit,
        admit(known, file) {
          request.body = coerce(operation.input, known);
          return admit(operation, call, inputOf(row, request), file);
        },
      });
      request.body = coerce(operation.input, fields);
      return { uploads: files };
    }
    // A body is JSON or refused: guessing at another type would read it wrongly.
    if (hasBody(request) && !request.is(jsonTypes)) {
      throw new DomainError('unsupported_media', 'body: must be JSON, with Content-Type: application/json');
    }
    if (hasBody(request)) {
      // Short fields are read first: the audit row of a refusal then has them.
      if (!isShort(request)) await admitByPath(row.operation, call, pathOf(row, request));
      request.body = await readJsonBody(request, row.bodyLimit ?? defaultBodyLimit, call.actor?.id ?? null);
    }
    return {};
  };
}

/** Joins what the path, query and body say; a name given twice must say the same. No name reaches a prototype. */
function merge(...parts: Record<string, unknown>[]): Record<string, unknown> {
  const input: Record<string, unknown> = Object.create(null);
  for (const part of parts) {
    for (const [name, value] of Object.entries(part)) {
      if (Object.hasOwn(input, name) && JSON.stringify(input[name]) !== JSON.stringify(value)) throw twice(name);
      input[name] = value;
    }
  }
  return input;
}

function bodyOf({ body }: Request): Record<string, unknown> {
  if (body === undefined) return {};
  if (!isRecord(body)) {
    throw new DomainError('invalid_request', 'body: must be a JSON object');
  }
  return body;
}

/** The query of a URL. `URLSearchParams` alone would replace what is not UTF-8, and so read a name that was not sent. */
function searchOf(url: string): URLSearchParams {
  const at = url.indexOf('?');
  const search = at === -1 ? '' : url.slice(at + 1);
  try {
    decodeURIComponent(search);
  } catch {
    throw fieldError('invalid_request', 'query', 'is not valid percent-encoded UTF-8');
  }
  return new URLSearchParams(search);
}

/** The refusal of a number that cannot be one, as if it were unknown: `run_id` names a run. */
function unknownNumber(row: Row, name: string, value: unknown): string {
  if (name === 'number')
    return row.path.includes('/pulls/') ? `Pull request ${String(value).slice(0, 100)} not found` : 'Version not found';
  const noun = name.replace(/_id$/, '').replaceAll('_', ' ');
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)} not found`;
}

/**
 * Parameters of the path. An invalid number names nothing, nor does another spelling of a valid one, such as `01`: a resource has one address.
 * @throws DomainError `not_found`
 */
function pathOf(row: Row, request: Request): Record<string, unknown> {
  const { input } = row.operation;
  const given = Object.fromEntries(
    Object.entries(request.params).map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : value]),
  );
  const path = coerce(input, given);
  for (const [name, value] of Object.entries(path)) {
    const schema: z.ZodType | undefined = input.shape[name];
    if (schema && isNumeric(schema) && (String(value) !== given[name] || !schema.safeParse(value).success))
      throw new DomainError('not_found', unknownNumber(row, name, given[name]));
  }
  return path;
}

/** The input of an operation: path parameters, query and body in one. @throws DomainError `invalid_request` */
export function inputOf(row: Row, request: Request): Record<string, unknown> {
  return merge(
    pathOf(row, request),
    coerce(row.operation.input, parseQuery(searchOf(request.originalUrl))),
    bodyOf(request),
  );
}

type Json = { [key: string]: Json } | Json[] | string;

const maxParameters = 200;

/** Splits `filter[date][gte]` into its names. */
function namesOf(key: string): string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(key);
  if (!match) return [key];
  return [match[1] ?? '', ...[...(match[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map((inner) => inner[1] ?? '')];
}

/**
 * Reads a query string into nested plain objects. Numbers and booleans stay text here; `coerce` reads them by the schema.
 * @throws DomainError `invalid_request` when a name is given twice with different values or is nested too deep, or there are over 200.
 */
function parseQuery(search: URLSearchParams): Record<string, Json> {
  const root: Record<string, Json> = Object.create(null);
  let count = 0;
  for (const [key, value] of search) {
    if (++count > maxParameters)
      throw fieldError('invalid_request', 'query', `must have at most ${maxParameters} parameters`);
    const names = namesOf(key);
    if (names.length >= inputLimits.levels)
      throw fieldError('invalid_request', names[0] ?? 'query', `is nested more than ${inputLimits.levels} levels deep`);
    const last = names.pop() ?? key;
    let target = root;
    for (const name of names) {
      const next = target[name] ?? Object.create(null);
      if (typeof next !== 'object' || Array.isArray(next)) throw twice(key);
      target[name] = next;
      target = next;
    }
    const before = target[last];
    if (before !== undefined && before !== value) throw twice(key);
    target[last] = value;
  }
  return root;
}

const twice = (name: string) => fieldError('invalid_request', name, 'is given twice with different values');

/** The schema below optional, default and pipe wrappers. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const def = schema._zod.def as { innerType?: z.core.$ZodType; in?: z.core.$ZodType; type: string };
  if (def.type === 'pipe' && def.in) return unwrap(def.in);
  return def.innerType ? unwrap(def.innerType) : schema;
}

/** Whether a schema accepts a number. */
const isNumeric = (schema: z.core.$ZodType) => ['number', 'int'].includes(unwrap(schema)._zod.def.type);

/** Converts one text value to the type of its schema; what does not fit stays text, so that the schema reports the fault. */
function coerceValue(schema: z.core.$ZodType, value: Json): unknown {
  const inner = unwrap(schema);
  const type = inner._zod.def.type;
  if (typeof value !== 'string') return value;
  if (isNumeric(schema)) return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  if (type === 'array') return value === '' ? [] : value.split(',');
  return value;
}

/** Reads the parameters of a query by the shapes of an operation's input. */
function coerce(schema: z.ZodObject, query: Record<string, Json>): Record<string, unknown> {
  const shape = schema.shape as Record<string, z.core.$ZodType>;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return [name, field ? coerceValue(field, value) : value];
    }),
  );
}
