import { createHash } from 'node:crypto';
import { permissions } from '../../kernel/actor.ts';
import type { JsonSchema } from '../../kernel/shapes.ts';
import type { Row } from '../table.ts';
import { errorResponses, errorShape } from './openapi-errors.ts';
import { emptyResponses, operationObject } from './openapi-operation.ts';
import { protocolParts } from './openapi-protocols.ts';
import { createSchemaWriter, type SchemaWriter } from './openapi-schemas.ts';
import { type Document, type OperationObject, type Parameter, type Reference, tagsOf } from './openapi-types.ts';

type Shared<T> = Map<string, { name: string; value: T }>;

const pascal = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/**
 * Names what occurs more than once. The most frequent value of a wish gets the wished name, others one that says what they hold: names stay as
 * they are when operations are added.
 */
function namesOf<T>(all: readonly { wish: string; value: T }[], taken: Iterable<string>): Shared<T> {
  const counts = new Map<string, { wish: string; value: T; count: number }>();
  for (const { wish, value } of all) {
    const key = JSON.stringify(value);
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { wish, value, count: 1 });
  }
  const used = new Set(taken);
  const shared: Shared<T> = new Map();
  for (const [key, { wish, value }] of [...counts]
    .filter(([, { count }]) => count > 1)
    .sort(([, a], [, b]) => b.count - a.count)) {
    const name = used.has(wish) ? `${wish}-${createHash('sha1').update(key).digest('hex').slice(0, 4)}` : wish;
    used.add(name);
    shared.set(key, { name, value });
  }
  return shared;
}

const componentsOf = <T>(shared: Shared<T>): Record<string, T> =>
  Object.fromEntries([...shared.values()].map(({ name, value }) => [name, value]));

/** Replaces parameters and JSON bodies that occur more than once by references to components. */
function shareRepeated({ paths, components, ...document }: Document): Document {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const inline = (item: Parameter | Reference): item is Parameter => !('$ref' in item);
  const parameters = namesOf(
    operations.flatMap(({ parameters: own = [] }) => own.filter(inline).map((value) => ({ wish: value.name, value }))),
    Object.keys(components.parameters),
  );
  const bodyOf = ({ requestBody }: OperationObject) => requestBody?.content['application/json']?.schema;
  const bodies = namesOf(
    operations.flatMap((operation) => {
      const value = bodyOf(operation);
      return value?.properties ? [{ wish: `${pascal(operation.operationId)}Body`, value }] : [];
    }),
    Object.keys(components.schemas),
  );
  const reference = <T>(shared: Shared<T>, place: string, value: T): Reference | T => {
    const name = shared.get(JSON.stringify(value))?.name;
    return name === undefined ? value : { $ref: `#/components/${place}/${name}` };
  };
  for (const operation of operations) {
    operation.parameters &&= operation.parameters.map((item) => reference(parameters, 'parameters', item as Parameter));
    const json = operation.requestBody?.content['application/json'];
    if (json) json.schema = reference<JsonSchema>(bodies, 'schemas', json.schema);
  }
  return {
    ...document,
    paths,
    components: {
      ...components,
      parameters: { ...componentsOf(parameters), ...components.parameters },
      schemas: { ...components.schemas, ...componentsOf(bodies) },
    },
  };
}

const about = `One interface for the content of a site that lives in git. All paths begin with \`/api/v2\`.

**Authentication.** Send \`Authorization: Bearer <token>\`. A token holds permissions, and each endpoint names the one it needs. No
permission implies another. ${Object.entries(permissions)
  .map(([name, meaning]) => `\`${name}\`: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}.`)
  .join(' ')}

**Lists** are bare arrays. \`page\` counts from 1; \`per_page\` is 30 by default and at most 100. \`Link\` has the URLs of the first,
previous, next and last page, \`X-Total-Count\` the number of items in the whole list.

**Times** are RFC 3339 in UTC with milliseconds, such as \`2026-03-01T08:00:00.123Z\`; dates of commits have whole seconds.

**Errors** all have the same body: \`message\` for people, \`error: true\`, \`code\` for programs, and \`details\` where there is more to
say, with the faults of single fields in \`details.errors\`.

**Unknown names** in a body or query are ignored and listed in \`X-Ignored-Fields\`; answers of commands that are objects name them in
\`warnings\` too, with the code \`ignored\`. With \`Prefer: handling=strict\` such a request is refused with 400.

**Repeats.** A POST with an \`Idempotency-Key\` is executed once; repeating the same request returns the first answer.`;

const text = { type: 'string' } as const;

const headers: Document['components']['headers'] = {
  'X-Request-Id': { description: 'Id of the request in the log of the service', schema: text },
  'X-Ignored-Fields': {
    description: 'Names in the input that were ignored because they are unknown, separated by commas',
    schema: text,
  },
  'Preference-Applied': {
    description: 'RFC 7240: `handling=strict` when the request demanded it with `Prefer`',
    schema: { type: 'string', const: 'handling=strict' },
  },
  'X-Total-Count': { description: 'Number of items in the whole list', schema: { type: 'integer' } },
  'X-Commit-Sha': { description: 'The commit the request made', schema: text },
  'Idempotency-Replayed': {
    description: '`true` when this is the answer to an earlier request with the same key',
    schema: text,
  },
  'Retry-After': { description: 'Seconds to wait before trying again', schema: { type: 'integer' } },
  Link: { description: 'RFC 8288: URLs of the `first`, `prev`, `next` and `last` page', schema: text },
  ETag: { description: 'Version of the record, for `If-None-Match` and `If-Match`', schema: text },
  Location: { description: 'Path of the new record', schema: text },
  'WWW-Authenticate': { description: 'Scheme of the credential that is expected', schema: text },
  Allow: { description: 'Methods that are accepted', schema: text },
  'X-Next-Offset': { description: 'Offset at which to continue', schema: { type: 'integer' } },
  'X-Log-Complete': { description: '`true` when the job has ended and the log will not grow', schema: text },
};

const headerParameter = (name: string, description: string): Parameter => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: text,
});

const parameters = {
  'If-None-Match': headerParameter('If-None-Match', 'An `ETag` from an earlier answer; 304 when it is still current'),
  'If-Match': headerParameter('If-Match', 'The `ETag` the stored version must have; 412 when it has another'),
  'Idempotency-Key': headerParameter('Idempotency-Key', '1 to 255 printable ASCII characters; kept for 24 hours'),
  Prefer: headerParameter(
    'Prefer',
    'RFC 7240: with `handling=strict` a request with unknown fields is refused with 400 instead of being executed without them; other preferences are ignored',
  ),
};

/** An Express pattern as an OpenAPI template. */
const templateOf = (path: string) => path.replace(/[:*]([a-z_]+)/g, '{$1}');

function pathsOf(rows: readonly Row[], writer: SchemaWriter): Document['paths'] {
  const paths: Document['paths'] = {};
  for (const row of rows) {
    const template = templateOf(row.path);
    paths[template] = { ...paths[template], [row.method]: operationObject(row, writer) };
  }
  return paths;
}

const byName = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The OpenAPI 3.1 document of a table. It does not depend on an instance, so that one text serves all. */
export function openapiDocument(rows: readonly Row[]): Document {
  const writer = createSchemaWriter();
  const protocols = protocolParts();
  const paths = { ...pathsOf(rows, writer), ...protocols.paths };
  const errorContent = { 'application/json': { schema: writer.write(errorShape) } };
  const document = shareRepeated({
    openapi: '3.1.1',
    info: {
      title: 'Portico API',
      version: '2',
      summary: 'Content over git, through one typed interface',
      description: about,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This server' }],
    tags: [...tagsOf(rows), ...protocols.tags],
    paths,
    components: {
      schemas: { ...writer.components, ...protocols.schemas },
      parameters,
      headers,
      responses: { ...emptyResponses, ...errorResponses(errorContent), ...protocols.responses },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API token' },
        ...protocols.securitySchemes,
      },
    },
  });
  return { ...document, components: { ...document.components, schemas: byName(document.components.schemas) } };
}

const lineWidth = 120;

/** JSON with an object or array on one line where it fits: a third of the size of one value a line, and a difference is still one line. */
function jsonText(value: unknown, indent = '', lead = 0): string {
  const flat = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || indent.length + lead + flat.length < lineWidth) return flat;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const members = Array.isArray(value)
    ? value.map((item) => jsonText(item, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${JSON.stringify(name)}: ${jsonText(item, inner, name.length + 4)}`);
  return `${open}\n${members.map((member) => inner + member).join(',\n')}\n${indent}${close}`;
}

/** The document as the text of `openapi.json`. */
export const openapiText = (rows: readonly Row[]): string => `${jsonText(openapiDocument(rows))}\n`;
