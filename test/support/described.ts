import { readFileSync } from 'node:fs';
import { Validator } from '@cfworker/json-schema';
import type { Document, ResponseObject } from '../../src/rest/openapi/openapi-types.ts';
import { routes } from '../../src/rest/routes.ts';
import { pathParameters, type Row } from '../../src/rest/table.ts';
import type { Answer } from './app.ts';

const document: Document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const { components } = document;

const patterns = routes
  .map((row) => ({
    row,
    pattern: new RegExp(`^${row.path.replace(/[:*][a-z_]+/g, (name) => (name.startsWith('*') ? '.+' : '[^/]+'))}$`),
  }))
  // What is written out goes before what is a parameter.
  .sort((a, b) => pathParameters(a.row.path).length - pathParameters(b.row.path).length);

/** The row a request reaches; undefined when none is there. */
export const rowAt = (method: string, url: string): Row | undefined =>
  patterns.find(({ row, pattern }) => row.method === method.toLowerCase() && pattern.test(url.split('?')[0] ?? ''))
    ?.row;

/** Headers that mean something to clients: what is sent has to be described. */
const telling = [
  ...['etag', 'link', 'x-total-count', 'x-commit-sha', 'location', 'idempotency-replayed', 'retry-after', 'allow'],
  ...['www-authenticate', 'x-next-offset', 'x-log-complete', 'x-ignored-fields', 'x-request-id'],
  'preference-applied',
];

const resolve = (item: ResponseObject | { $ref: string }): ResponseObject | undefined =>
  '$ref' in item ? components.responses[item.$ref.split('/').at(-1) ?? ''] : item;

/** What the answer of a row has that `openapi.json` does not describe, or lacks that it does. */
export const undescribed = (row: Row, answer: Answer): string[] =>
  undescribedAt(row.method, row.path.replace(/[:*]([a-z_]+)/g, '{$1}'), answer);

/** The same for a path as it is written in the document. */
export function undescribedAt(method: string, path: string, { status, headers, body }: Answer): string[] {
  const operation = document.paths[path]?.[method.toLowerCase()];
  const described = operation?.responses[String(status)];
  const response = described && resolve(described);
  const name = `${operation?.operationId ?? `${method} ${path}`} ${status}`;
  if (!response) return [`${name}: the status is not described`];
  const faults: string[] = [];
  const declared = new Set(Object.keys(response.headers ?? {}).map((each) => each.toLowerCase()));
  for (const header of telling)
    if (headers.has(header) && !declared.has(header)) faults.push(`${name}: the header ${header} is not described`);
  // A 304 is found by some lists before they know how long they are.
  const isList = response.content !== undefined && declared.has('x-total-count');
  for (const header of ['x-request-id', ...(isList ? ['link', 'x-total-count'] : [])])
    if (!headers.has(header)) faults.push(`${name}: the header ${header} is missing`);
  if (body === '') {
    if (response.content) faults.push(`${name}: the content is missing`);
    return faults;
  }
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const content = response.content?.[type] ?? response.content?.['*/*'];
  if (!content) return [...faults, `${name}: content of type ${type} is not described`];
  if (type !== 'application/json') return faults;
  const validator = new Validator({ ...content.schema, components } as never, '2020-12', false);
  const { errors } = validator.validate(body);
  // The innermost places say most.
  for (const { instanceLocation, error } of errors.slice(-2)) faults.push(`${name}: ${instanceLocation} ${error}`);
  return faults;
}
