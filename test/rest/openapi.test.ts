import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { catalogue } from '../../src/domain/catalogue.ts';
import { stepOperationsOf } from '../../src/domain/workflows/step-operations.ts';
import { errorCodes } from '../../src/kernel/errors.ts';
import { openapiDocument, openapiText } from '../../src/rest/openapi/openapi.ts';
import { createSchemaWriter } from '../../src/rest/openapi/openapi-schemas.ts';
import type { OperationObject, Parameter, ResponseObject } from '../../src/rest/openapi/openapi-types.ts';
import { routes } from '../../src/rest/routes.ts';
import { pathParameters } from '../../src/rest/table.ts';

const document = openapiDocument(routes);
// What a reader of the file sees: without the undefined members a JavaScript object could hide.
const plain = JSON.parse(JSON.stringify(document)) as typeof document;
const operations = Object.entries(plain.paths).flatMap(([template, item]) =>
  Object.entries(item).map(([method, operation]) => ({ template, method, operation })),
);

function* nodes(value: unknown, place = '#'): Generator<[string, Record<string, unknown>]> {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) yield [place, value as Record<string, unknown>];
  for (const [key, item] of Object.entries(value)) yield* nodes(item, `${place}/${key}`);
}

function resolve(reference: string): unknown {
  let target: unknown = plain;
  for (const name of reference.replace(/^#\//, '').split('/')) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
    target = (target as Record<string, unknown> | undefined)?.[key];
  }
  return target;
}

/** The parameters of an operation, whether they stand in it or are shared. */
const parametersOf = ({ parameters = [] }: OperationObject) =>
  parameters.map((item) => ('$ref' in item ? (resolve(item.$ref) as Parameter) : item));

/** A schema of the document as zod reads it: definitions beside it instead of in the document, without `not`, which zod does not read. */
const compile = (schema: object) =>
  z.fromJSONSchema(
    JSON.parse(
      JSON.stringify({ ...schema, $defs: plain.components.schemas }).replaceAll('#/components/schemas/', '#/$defs/'),
      (name, value) => (name === 'not' ? undefined : value),
    ),
  );

test('openapi.json is current; `npm run emit` renews it', () => {
  const committed = readFileSync(path.join(import.meta.dirname, '../../openapi.json'), 'utf8');
  expect(committed === openapiText(routes)).toBe(true);
});

test('it documents which operations workflow steps may call, and by what name', () => {
  const documented = operations.flatMap(
    ({ operation }) => /Steps of workflows call it `(.*)`\./.exec(operation.description)?.[1] ?? [],
  );
  const names = stepOperationsOf(catalogue).keys();
  expect(documented.sort()).toEqual([...names].sort());
  expect(documented).toContain('studio.createEntry');
  expect(documented).not.toContain('workflows.revealTriggerSecret');
});

describe('the document keeps the rules of OpenAPI 3.1', () => {
  const schemes = ['bearer', 'basic', 'webhookSecret', 'webhookToken', 'webhookSignature', 'metricsToken'] as const;
  const reference = z.strictObject({ $ref: z.string().startsWith('#/components/') });
  const schema = z.record(z.string(), z.unknown());
  const media = z.record(z.string().regex(/^[\w*]+\/[\w*.+-]+$/), z.strictObject({ schema }));
  const header = z.strictObject({ description: z.string().min(1), schema });
  const parameter = z
    .strictObject({
      name: z.string().min(1),
      in: z.enum(['path', 'query', 'header']),
      required: z.boolean(),
      description: z.string().min(1).optional(),
      style: z.enum(['form', 'deepObject']).optional(),
      explode: z.boolean().optional(),
      schema,
    })
    .refine((it) => it.in !== 'path' || it.required, 'path parameters are required')
    .refine((it) => it.style === undefined || it.in === 'query', 'these styles are for queries');
  const response = z.strictObject({
    description: z.string().min(1),
    headers: z.record(z.string(), z.union([reference, header])).optional(),
    content: media.optional(),
  });
  const operation = z.strictObject({
    operationId: z.string().regex(/^[a-z][A-Za-z0-9]*$/),
    summary: z.string().min(1),
    description: z.string().min(1),
    tags: z.array(z.string()).length(1),
    security: z.array(z.partialRecord(z.enum(schemes), z.array(z.string()).length(0))).max(3),
    'x-permission': z.string().min(1),
    'x-further-permissions': z.record(z.string(), z.string()).optional(),
    parameters: z.array(z.union([reference, parameter])).optional(),
    requestBody: z.strictObject({ required: z.boolean(), content: media }).optional(),
    responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.union([reference, response])),
  });
  const openapi = z.strictObject({
    openapi: z.string().regex(/^3\.1\.\d+$/),
    info: z.strictObject({
      title: z.string(),
      version: z.string(),
      summary: z.string(),
      description: z.string(),
      license: z.strictObject({ name: z.string(), identifier: z.string() }),
    }),
    servers: z.array(z.strictObject({ url: z.string(), description: z.string() })).min(1),
    tags: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    paths: z.record(
      z.string().startsWith('/'),
      z.partialRecord(z.enum(['get', 'put', 'post', 'delete', 'patch']), operation),
    ),
    components: z.strictObject({
      schemas: z.record(z.string().regex(/^[A-Za-z0-9._-]+$/), schema),
      parameters: z.record(z.string(), parameter),
      headers: z.record(z.string(), header),
      responses: z.record(z.string(), response),
      securitySchemes: z.record(
        z.enum(schemes),
        z.union([
          z.strictObject({ type: z.literal('http'), scheme: z.enum(['bearer', 'basic']), description: z.string() }),
          z.strictObject({
            type: z.literal('apiKey'),
            in: z.enum(['query', 'header']),
            name: z.string(),
            description: z.string(),
          }),
        ]),
      ),
    }),
  });

  test('every object has the members of its kind and no others', () => {
    const parsed = openapi.safeParse(plain);
    expect(parsed.error && z.prettifyError(parsed.error)).toBeUndefined();
  });

  test('every reference leads somewhere, and every component is used', () => {
    const references = [...nodes(plain)].flatMap(([place, node]) =>
      typeof node.$ref === 'string' ? [[place, node.$ref] as const] : [],
    );
    expect(references.filter(([, target]) => resolve(target) === undefined)).toEqual([]);
    const used = new Set(references.map(([, target]) => target));
    for (const [place, components] of Object.entries(plain.components).filter(([name]) => name !== 'securitySchemes'))
      for (const name of Object.keys(components)) expect(used).toContain(`#/components/${place}/${name}`);
    const demanded = new Set(operations.flatMap(({ operation: { security } }) => security.flatMap(Object.keys)));
    expect([...demanded].sort()).toEqual(Object.keys(plain.components.securitySchemes).sort());
  });

  test('operation ids and tags are unique, tags are declared', () => {
    const ids = operations.map(({ operation: { operationId } }) => operationId);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    const tags = plain.tags.map((tag) => tag.name);
    expect(new Set(tags).size).toBe(tags.length);
    expect(new Set(operations.flatMap(({ operation: { tags: own } }) => own))).toEqual(new Set(tags));
  });

  test('parameters are those of the template, each once', () => {
    for (const { template, operation } of operations) {
      const named = parametersOf(operation);
      const inPath = named.filter((item) => item.in === 'path').map((item) => item.name);
      expect(inPath).toEqual([...template.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]));
      const keys = named.map((item) => `${item.in} ${item.name}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test('templates do not differ in parameter names alone', () => {
    const shapes = Object.keys(plain.paths).map((template) => template.replace(/\{[a-z_]+\}/g, '{}'));
    expect(shapes.filter((shape, at) => shapes.indexOf(shape) !== at)).toEqual([]);
  });

  test('every schema compiles', () => {
    const schemas = [...nodes(plain.paths), ...nodes(plain.components)].flatMap(([, { schema: it }]) =>
      it && typeof it === 'object' ? [it] : [],
    );
    for (const it of [...schemas, ...Object.values(plain.components.schemas)]) expect(() => compile(it)).not.toThrow();
  });
});

describe('the document says what the table does', () => {
  const of = (id: string): OperationObject => {
    const found = operations.find(({ operation: { operationId } }) => operationId === id)?.operation;
    if (!found) throw new Error(`No operation ${id}`);
    return found;
  };
  const names = (id: string, place: string) =>
    parametersOf(of(id)).flatMap((item) => (item.in === place ? [item.name] : []));
  const bodyOf = (id: string) => of(id).requestBody?.content['application/json']?.schema;
  const answerOf = (id: string, status: string) => {
    const answer = of(id).responses[status];
    return answer && ('$ref' in answer ? (resolve(answer.$ref) as ResponseObject) : answer);
  };

  test.each(routes.map((row) => [`${row.method} ${row.path}`, row] as const))('%s', (_name, row) => {
    const template = row.path.replace(/[:*]([a-z_]+)/g, '{$1}');
    const operation = plain.paths[template]?.[row.method];
    expect(operation?.['x-permission']).toBe(row.operation.permission);
    expect(operation?.security).toEqual(row.operation.permission === 'public' ? [] : [{ bearer: [] }]);
    for (const status of [row.status, ...Object.values(row.also ?? {})])
      expect(operation?.responses).toHaveProperty(String(status));
    const { properties = {} } = operation?.requestBody?.content['application/json']?.schema ?? {};
    for (const name of ['organization', 'project', ...pathParameters(row.path)].filter((name) =>
      row.path.includes(name),
    ))
      expect(properties).not.toHaveProperty(name);
  });

  test('a list is a bare array with its headers', () => {
    const answer = answerOf('listEntries', '200');
    expect(answer?.content?.['application/json']?.schema).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/EntrySummary' },
    });
    expect(Object.keys(answer?.headers ?? {})).toEqual(expect.arrayContaining(['Link', 'X-Total-Count', 'ETag']));
  });

  test('no content has no content', () => {
    expect(answerOf('deleteProject', '204')).not.toHaveProperty('content');
  });

  test('reads and deletes take a query, writes a body', () => {
    expect(names('listEntries', 'query')).toEqual(expect.arrayContaining(['page', 'filter', 'sort', 'q']));
    expect(names('deleteEntry', 'query')).toEqual(expect.arrayContaining(['sha', 'force']));
    expect(of('deleteEntry')).not.toHaveProperty('requestBody');
    expect(names('createEntry', 'query')).toEqual([]);
    expect(bodyOf('createEntry')).toMatchObject({ required: ['slug'], properties: { frontmatter: {}, body: {} } });
  });

  test('every time has the format date-time, and those of the service end in Z', () => {
    const times = [...nodes(plain)].flatMap(([place, node]) =>
      /\/(\w+_at|at|date|since|until|last_used|waiting_until|next_runs|next_fires)$/.test(place)
        ? [[place, node] as const]
        : [],
    );
    const text = (schema: Record<string, unknown>): Record<string, unknown>[] => [
      schema,
      ...[schema.items, ...((schema.anyOf as unknown[]) ?? [])].flatMap((it) => (it ? text(it as never) : [])),
    ];
    const untimely = times.filter(([, node]) => {
      const parts = text((node.schema as Record<string, unknown>) ?? node);
      return (
        parts.some(({ type }) => [type].flat().includes('string')) &&
        !parts.some(({ format }) => format === 'date-time')
      );
    });
    expect(times.length).toBeGreaterThan(100);
    expect(untimely.map(([place]) => place)).toEqual([]);
    expect(plain.components.schemas.Pull?.properties?.created_at).toEqual({
      type: 'string',
      format: 'date-time',
      pattern: '^(?!0000).*Z$',
    });
  });

  test('no schema is empty, and what is recursive has a name', () => {
    const empty = [...nodes(plain)].filter(
      ([place, node]) =>
        /\/(schema|items|additionalProperties|properties\/[^/]+|(any|one|all)Of\/\d+)$/.test(place) &&
        Object.keys(node).length === 0,
    );
    // Where it ends: see `openapi-schemas.ts`.
    expect(empty.map(([place]) => place)).toEqual(['#/components/schemas/JsonValue/anyOf/5/items/anyOf/5/items']);
    expect(Object.keys(plain.components.schemas).filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
  });

  test('no object has members of its own beside any others, of which orval makes a type that does not compile', () => {
    const open = [...nodes(plain)].filter(
      ([, { properties, additionalProperties }]) => properties && typeof additionalProperties === 'object',
    );
    expect(open.map(([place]) => place)).toEqual([]);
    const both = { allOf: [{ properties: { errors: { type: 'array' } } }, { type: 'object' }] };
    expect(plain.components.schemas.Error).toMatchObject({ properties: { details: both } });
  });

  test('every operation names the refusals that any request can meet, and those its own rules add', () => {
    const statuses = (id: string) => Object.keys(of(id).responses).map(Number);
    for (const row of routes) {
      const id = row.operation.name.split('.').at(-1) ?? '';
      expect(statuses(id)).toEqual(expect.arrayContaining([400, 401, 408, 413, 414, 415, 417, 429, 431, 500, 503]));
      if (row.method === 'get') expect(statuses(id)).toContain(304);
      expect(statuses(id).includes(404)).toBe(pathParameters(row.path).length > 0);
      expect(statuses(id).includes(412)).toBe(row.operation.comparesTag === true);
      expect(statuses(id).includes(428)).toBe(row.operation.mayRequireTag === true);
    }
    for (const id of ['updateWorkflow', 'deleteBranch', 'updatePull', 'mergePull'])
      expect(names(id, 'header')).toContain('If-Match');
    expect(statuses('getFile')).toContain(413);
    expect(statuses('callWebhook')).toEqual([202, 401, 404, 405, 408, 413, 415, 417, 429, 431, 503]);
    expect(statuses('receivePack')).toEqual([200, 400, 401, 403, 404, 408, 413, 414, 415, 417, 429, 431, 500, 503]);
  });

  test('lists and objects in a query are written as the server reads them', () => {
    const byName = Object.fromEntries(parametersOf(of('listEntries')).map((item) => [item.name, item]));
    expect(byName.filter).toMatchObject({ style: 'deepObject', explode: true });
    expect(byName.sort).toMatchObject({ style: 'form', explode: false });
  });

  test('the rest of a path is one parameter, and the text says so', () => {
    expect(names('getEntry', 'path')).toEqual(['organization', 'project', 'collection', 'entry']);
    expect(of('getEntry').description).toContain('may contain `/`');
  });

  test('409 stands with commands, and with what else the present state may refuse', () => {
    for (const id of ['publishSnapshot', 'exportWarc', 'diffSnapshots']) expect(of(id).responses).toHaveProperty('409');
    expect(of('listSnapshotEntries').responses).not.toHaveProperty('409');
  });

  test('conditions stand where the server looks at them', () => {
    const reference = (name: string) => ({ $ref: `#/components/parameters/${name}` });
    expect(of('getEntry').parameters).toContainEqual(reference('If-None-Match'));
    expect(of('updateEntry').parameters).toContainEqual(reference('If-Match'));
    expect(of('updateEntry').responses).toHaveProperty('412');
    expect(of('createEntry').parameters).toContainEqual(reference('Idempotency-Key'));
    expect(of('createToken').parameters).not.toContainEqual(reference('Idempotency-Key'));
  });

  test('a file may be answered as bytes', () => {
    expect(Object.keys(answerOf('getFile', '200')?.content ?? {})).toEqual(['application/json', '*/*']);
  });

  test('an error is one shape everywhere, with the closed list of codes', () => {
    expect(plain.components.schemas.Error).toMatchObject({
      required: expect.arrayContaining(['message', 'error', 'code', 'request_id']),
      properties: { error: { const: true }, code: { enum: [...errorCodes] } },
    });
    const error = compile({ $ref: '#/components/schemas/Error' });
    expect(error.safeParse({ message: 'm', error: true, code: 'not_found', request_id: 'r' }).success).toBe(true);
    expect(error.safeParse({ message: 'm', error: false, code: 'not_found', request_id: 'r' }).success).toBe(false);
  });
});

test('two shapes with one id are refused', () => {
  const writer = createSchemaWriter();
  writer.write(z.string().meta({ id: 'Twin' }));
  expect(() => writer.write(z.number().meta({ id: 'Twin' }))).toThrow('Two different schemas have the id Twin');
});
