import { z } from 'zod';
import { type Permission, permissions, type Requirement } from '../domain/permissions.ts';
import { machineName } from '../domain/shapes.ts';
import { isForSteps } from '../domain/workflows/step-operations.ts';
import { refusalsOf } from './openapi-errors.ts';
import type { JsonSchema, SchemaWriter } from './openapi-schemas.ts';
import { tagOf } from './openapi-tags.ts';
import type { OperationObject, Parameter, Reference, ResponseObject } from './openapi-types.ts';
import { unwrap } from './query.ts';
import { candidateOf, pathParameters, type Row } from './table.ts';

const standings: Record<Exclude<Requirement, Permission>, string> = {
  public: 'Needs no credential',
  signed_in: 'Needs any valid credential',
  owner: 'Only for an Owner of the organisation',
  instance_admin: 'Only for an administrator of this instance',
  run_token: 'Only for the token of the run, or with `manage_studio`',
};

const isStanding = (name: Requirement): name is keyof typeof standings => Object.hasOwn(standings, name);

function description(row: Row): string {
  const { operation, path } = row;
  const { permission, also = {} } = operation as { permission: Requirement; also?: Record<string, string> };
  const lines = [
    isStanding(permission)
      ? `${standings[permission]}.`
      : `Needs the permission \`${permission}\`: ${permissions[permission].toLowerCase()}.`,
    ...Object.entries(also).map(([name, when]) => `Needs \`${name}\` too ${when}.`),
  ];
  const greedy = /\*([a-z_]+)/.exec(path)?.[1];
  if (greedy) lines.push(`\`{${greedy}}\` is the rest of the path and may contain \`/\`.`);
  if (isForSteps(candidateOf(row))) lines.push(`Steps of workflows call it \`${operation.name}\`.`);
  return lines.join(' ');
}

/** Name, text and shape of a field; the text belongs to the parameter, not to its schema. */
function parameter(place: 'path' | 'query', name: string, schema: JsonSchema, required: boolean): Parameter {
  const { description: text, ...rest } = schema;
  return { name, in: place, required, ...(text && { description: text }), schema: rest };
}

/** How an array or object stands in a query string, as `parseQuery` and `coerce` read it. */
function inQuery(name: string, field: z.core.$ZodType, schema: JsonSchema, required: boolean): Parameter {
  const { type } = unwrap(field)._zod.def;
  return {
    ...parameter('query', name, schema, required),
    ...(type === 'array' && { style: 'form' as const, explode: false }),
    ...((type === 'object' || type === 'record') && { style: 'deepObject' as const, explode: true }),
  };
}

const header = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });
const headerParameter = (name: string): Reference => ({ $ref: `#/components/parameters/${name}` });

const shapeOf = (schema: z.core.$ZodType) =>
  ((unwrap(schema)._zod.def as { shape?: Record<string, z.core.$ZodType> }).shape ?? {}) as Record<
    string,
    z.core.$ZodType
  >;

/** The item of a list, when the output is one: REST answers with the bare array. */
const itemsOf = (output: z.core.$ZodType) => {
  const { items, cursors } = shapeOf(output);
  return items && cursors ? items : null;
};

function success(row: Row, status: number, writer: SchemaWriter): ResponseObject {
  const { operation, method } = row;
  const headers: Record<string, Reference> = {
    'X-Request-Id': header('X-Request-Id'),
    'X-Ignored-Fields': header('X-Ignored-Fields'),
  };
  const shape = shapeOf(row.present?.schema ?? operation.output);
  const items = itemsOf(operation.output);
  if (items) Object.assign(headers, { Link: header('Link'), 'X-Total-Count': header('X-Total-Count') });
  if (method === 'get' || shape.sha) headers.ETag = header('ETag');
  if (status === 201 && row.location) headers.Location = header('Location');
  if (shape.commit && operation.kind === 'command') headers['X-Commit-Sha'] = header('X-Commit-Sha');
  if (takesKey(row)) headers['Idempotency-Replayed'] = header('Idempotency-Replayed');
  const base = { description: meanings[status] ?? 'Success', headers };
  if (status === 204) return base;
  const content = { 'application/json': { schema: writer.write(row.present?.schema ?? items ?? operation.output) } };
  const lines = row.lines && { 'application/x-ndjson': { schema: {} } };
  if (row.stream) return { ...base, content: { '*/*': { schema: {} } } };
  // Bytes instead of JSON come in whatever type they have.
  return { ...base, content: row.raw ? { ...content, '*/*': { schema: {} } } : { ...content, ...lines } };
}

const meanings: Record<number, string> = {
  200: 'Success',
  201: 'Made',
  202: 'Accepted; the work goes on after the answer',
  204: 'Done; there is no content',
};

/** `fresh` commands hand out power, and the router does not repeat their answers. */
const takesKey = ({ method, operation }: Row) => method === 'post' && !operation.fresh;

/** `If-Match` and the field `sha` say the same: the version that must be current. */
const isConditional = ({ operation, method }: Row, fields: string[]) =>
  operation.kind === 'command' && method !== 'post' && fields.includes('sha');

/** The fields of the JSON body but the file's content, and the files themselves. */
function multipartBody({ properties, ...schema }: JsonSchema): Record<string, { schema: JsonSchema }> {
  const { content: _inline, ...fields } = properties as Record<string, JsonSchema>;
  const file: JsonSchema = {
    type: 'array',
    items: { type: 'string', contentMediaType: 'application/octet-stream' },
    maxItems: 20,
  };
  return { 'multipart/form-data': { schema: { ...schema, properties: { ...fields, file } } } };
}

const pageFields = ['page', 'per_page', 'after'];

/** One row of the table as an OpenAPI operation. */
export function operationObject(row: Row, writer: SchemaWriter): OperationObject {
  const { operation, method, path } = row;
  const input = (operation.input as z.ZodObject).shape as Record<string, z.core.$ZodType>;
  const inPath = pathParameters(path);
  const properties = (writer.write(operation.input).properties ?? {}) as Record<string, JsonSchema>;
  const required = new Set(writer.write(operation.input).required ?? []);
  const fields = Object.keys(input).filter((name) => !inPath.includes(name));
  const takesQuery = method === 'get' || method === 'delete';
  const isPaged = itemsOf(operation.output) !== null;
  const asked = fields.filter((name) => takesQuery || (isPaged && pageFields.includes(name)));
  const body = fields.filter((name) => !asked.includes(name));
  const conditional = isConditional(row, fields);
  const bodyRequired = body.filter((name) => required.has(name));
  const parameters = [
    ...inPath.map((name) => parameter('path', name, properties[name] ?? writer.write(machineName), true)),
    ...asked.map((name) => inQuery(name, input[name] ?? z.unknown(), properties[name] ?? {}, required.has(name))),
    ...(method === 'get' ? [headerParameter('If-None-Match')] : []),
    ...(conditional ? [headerParameter('If-Match')] : []),
    ...(takesKey(row) ? [headerParameter('Idempotency-Key')] : []),
  ];
  const statuses = [row.status, ...Object.values(row.also ?? {})];
  const bodySchema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(body.map((name) => [name, properties[name] ?? {}])),
    ...(bodyRequired.length > 0 && { required: bodyRequired }),
  };
  const also = operation.also as Record<string, string> | undefined;
  return {
    operationId: operation.name.split('.').at(-1) ?? operation.name,
    summary: operation.summary,
    description: description(row),
    tags: [tagOf(row)],
    security: operation.permission === 'public' ? [] : [{ bearer: [] }],
    'x-permission': operation.permission,
    ...(also && { 'x-further-permissions': also }),
    ...(parameters.length > 0 && { parameters }),
    ...(body.length > 0 && {
      requestBody: {
        required: bodyRequired.length > 0,
        content: { 'application/json': { schema: bodySchema }, ...(row.multipart && multipartBody(bodySchema)) },
      },
    }),
    responses: {
      ...Object.fromEntries([...new Set(statuses)].map((status) => [status, success(row, status, writer)])),
      ...(method === 'get' && {
        304: { description: '`If-None-Match` names the current version', headers: { ETag: header('ETag') } },
      }),
      ...refusalsOf(row, { hasBody: body.length > 0, isConditional: conditional }),
    },
  };
}
