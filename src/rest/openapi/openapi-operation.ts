import { z } from 'zod';
import { isForSteps } from '../../domain/workflows/step-operations.ts';
import type { Permission, Requirement } from '../../kernel/actor.ts';
import { type JsonSchema, jsonValue, machineName } from '../../kernel/shapes.ts';
import { withIgnored } from '../ignored-fields.ts';
import { unwrap } from '../input.ts';
import { pathParameters, type Row } from '../table.ts';
import { maxFiles } from '../upload.ts';
import { headersOfRead, refusalsOf } from './openapi-errors.ts';
import type { SchemaWriter } from './openapi-schemas.ts';
import { type OperationObject, type Parameter, type Reference, type ResponseObject, tagOf } from './openapi-types.ts';

const standings: Record<Exclude<Requirement, Permission>, string> = {
  public: 'Needs no credential',
  signed_in: 'Needs any valid credential',
  person: 'Only for a person who is signed in',
  owner: 'Only for an Owner of the organisation',
  instance_admin: 'Only for an administrator of this instance',
  run_token: 'Only for the token of the run, or with `manage_studio`',
};

const isStanding = (name: Requirement): name is keyof typeof standings => Object.hasOwn(standings, name);

function description(row: Row): string {
  const { operation, path } = row;
  const { permission, also = {} } = operation as { permission: Requirement; also?: Record<string, string> };
  const lines = [
    isStanding(permission) ? `${standings[permission]}.` : `Needs the permission \`${permission}\`.`,
    ...Object.entries(also).map(([name, when]) => `Needs \`${name}\` too ${when}.`),
  ];
  if (operation.scope === 'organization')
    lines.push(
      operation.confined === 'own_projects'
        ? 'A credential confined to projects reaches nothing beyond them.'
        : 'A credential confined to projects is refused.',
    );
  const greedy = /\*([a-z_]+)/.exec(path)?.[1];
  if (greedy) lines.push(`\`{${greedy}}\` is the rest of the path and may contain \`/\`.`);
  if (isForSteps(operation)) lines.push(`Steps of workflows call it \`${operation.name}\`.`);
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
    ...((type === 'object' || type === 'record' || schema.type === 'object') && {
      style: 'deepObject' as const,
      explode: true,
    }),
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

/** The shape of an answer. A command's objects may name ignored fields beside what they hold. */
function answerSchema(row: Row, writer: SchemaWriter): JsonSchema {
  const { operation, present } = row;
  const items = itemsOf(operation.output);
  const schema = writer.write(present?.schema ?? items ?? operation.output);
  if (items || operation.kind !== 'command') return schema;
  const warned = (member: JsonSchema): JsonSchema =>
    member.type === 'array' ? member : { allOf: [member, writer.write(withIgnored)] };
  const { anyOf, ...rest } = schema;
  return anyOf ? { ...rest, anyOf: (anyOf as JsonSchema[]).map(warned) } : warned(schema);
}

function success(row: Row, status: number, writer: SchemaWriter): ResponseObject {
  const { operation, method } = row;
  const headers: Record<string, Reference> = { ...headersOfRead };
  // Of several shapes the first: they are one record or many of it.
  const output = row.present?.schema ?? operation.output;
  const shape = shapeOf(output._zod.def.options?.[0] ?? output);
  const items = itemsOf(operation.output);
  if (items) Object.assign(headers, { Link: header('Link'), 'X-Total-Count': header('X-Total-Count') });
  if (method === 'get' || shape.sha || operation.givesTag) headers.ETag = header('ETag');
  if (status === 201 && row.location) headers.Location = header('Location');
  if (shape.commit && operation.kind === 'command') headers['X-Commit-Sha'] = header('X-Commit-Sha');
  if (takesKey(row)) headers['Idempotency-Replayed'] = header('Idempotency-Replayed');
  if (operation.output._zod.def.shape?.next_offset && row.media === 'text/plain')
    Object.assign(headers, { 'X-Next-Offset': header('X-Next-Offset'), 'X-Log-Complete': header('X-Log-Complete') });
  const base = { description: meanings[status] ?? 'Success', headers };
  const { media = '*/*' } = row;
  // Bytes instead of JSON come in whatever type they have.
  const bytes = { [media]: { schema: media.startsWith('text/') || media === 'application/yaml' ? lineText : binary } };
  if (row.stream) return { ...base, content: bytes };
  return {
    ...base,
    content: {
      'application/json': { schema: answerSchema(row, writer) },
      ...(row.raw && bytes),
      ...(row.lines && {
        'application/x-ndjson': { schema: { ...lineText, description: 'One item per line, as JSON' } },
      }),
    },
  };
}

const lineText: JsonSchema = { type: 'string' };
const binary: JsonSchema = { type: 'string', format: 'binary' };

const sharedResponse = (name: string): Reference => ({ $ref: `#/components/responses/${name}` });

/** Answers without content, which are alike wherever they are given. */
export const emptyResponses: Record<string, ResponseObject> = {
  NoContent: {
    description: 'Done; there is no content',
    headers: headersOfRead,
  },
  NotModified: {
    description: '`If-None-Match` names the current version',
    headers: { ...headersOfRead, ETag: header('ETag') },
  },
  ListNotModified: {
    description: '`If-None-Match` names the current version',
    headers: {
      ...headersOfRead,
      ETag: header('ETag'),
      Link: header('Link'),
      'X-Total-Count': header('X-Total-Count'),
    },
  },
};

const meanings: Record<number, string> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted; the work continues after the answer',
};

/** `freshGrant` commands hand out power, and the router does not repeat their answers. */
const takesKey = ({ method, operation }: Row) => method === 'post' && !operation.freshGrant;

/** The fields of the JSON body but the file's content, and the files themselves. */
function multipartBody({ properties, ...schema }: JsonSchema): Record<string, { schema: JsonSchema }> {
  const { content: _inline, ...fields } = properties as Record<string, JsonSchema>;
  const file: JsonSchema = {
    type: 'array',
    items: binary,
    maxItems: maxFiles,
    description: 'In one request with the fields, in any order',
  };
  return { 'multipart/form-data': { schema: { ...schema, properties: { ...fields, file } } } };
}

/** The signature of the bytes of a body, as the code hosts send it. */
const signature = (name: string): Parameter => ({
  name,
  in: 'header',
  required: true,
  description: '`sha256=` and the HMAC-SHA256 of the body in hexadecimal, keyed with the secret',
  schema: { type: 'string', pattern: '^sha256=[0-9A-Fa-f]{64}$' },
});

const pageFields = ['page', 'per_page', 'after'];

/** One row of the table as an OpenAPI operation. */
export function operationObject(row: Row, writer: SchemaWriter): OperationObject {
  const { operation, method, path } = row;
  const input = (operation.input as z.ZodObject).shape as Record<string, z.core.$ZodType>;
  const inPath = pathParameters(path);
  const written = writer.write(operation.input);
  const properties = (written.properties ?? {}) as Record<string, JsonSchema>;
  const required = new Set(written.required ?? []);
  const fields = Object.keys(input).filter((name) => !inPath.includes(name));
  const takesQuery = method === 'get' || method === 'delete';
  const isPaged = itemsOf(operation.output) !== null;
  const inUrl = fields.filter((name) => takesQuery || (isPaged && pageFields.includes(name)));
  const body = fields.filter((name) => !inUrl.includes(name));
  const bodyRequired = body.filter((name) => required.has(name));
  const parameters = [
    ...inPath.map((name) => parameter('path', name, properties[name] ?? writer.write(machineName), true)),
    ...inUrl.map((name) => inQuery(name, input[name] ?? z.unknown(), properties[name] ?? {}, required.has(name))),
    ...(method === 'get' ? [headerParameter('If-None-Match')] : []),
    ...(operation.comparesTag ? [headerParameter('If-Match')] : []),
    ...(takesKey(row) ? [headerParameter('Idempotency-Key')] : []),
    headerParameter('Prefer'),
    ...(row.signedBy ? [signature(row.signedBy)] : []),
  ];
  const statuses = [row.status, ...Object.values(row.also ?? {})];
  const bodySchema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(body.map((name) => [name, properties[name] ?? {}])),
    ...(bodyRequired.length > 0 && { required: bodyRequired }),
    // Fields that exclude each other.
    ...(written.not && { not: written.not }),
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
    ...(row.signedBy && {
      requestBody: { required: true, content: { 'application/json': { schema: writer.write(jsonValue) } } },
    }),
    ...(body.length > 0 && {
      requestBody: {
        required: bodyRequired.length > 0,
        content: { 'application/json': { schema: bodySchema }, ...(row.multipart && multipartBody(bodySchema)) },
      },
    }),
    responses: {
      ...Object.fromEntries(
        [...new Set(statuses)].map((status) => [
          status,
          status === 204 ? sharedResponse('NoContent') : success(row, status, writer),
        ]),
      ),
      ...(method === 'get' && { 304: sharedResponse(isPaged ? 'ListNotModified' : 'NotModified') }),
      ...refusalsOf(row),
    },
  };
}
