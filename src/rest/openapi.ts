import { errorResponses, errorShape } from './openapi-errors.ts';
import { operationObject } from './openapi-operation.ts';
import { createSchemaWriter, type SchemaWriter } from './openapi-schemas.ts';
import { tagsOf } from './openapi-tags.ts';
import type { Document, Parameter } from './openapi-types.ts';
import type { Row } from './table.ts';

const about = `One interface for the content of a site that lives in git. All paths begin with \`/api/v2\`.

**Credential.** Send \`Authorization: Bearer <token>\`. A token holds permissions; each endpoint names the one it needs.

**Lists** are bare arrays. \`page\` counts from 1, \`per_page\` is 30 unless you say otherwise and at most 100; \`Link\` leads to the
first, previous, next and last page and \`X-Total-Count\` says how many there are.

**Errors** all have the same body: \`message\` for people, \`error: true\`, \`code\` for programs, \`details\` where there is more to say.

**Unknown names** in a body or query are ignored and listed in \`X-Ignored-Fields\`.

**Repeats.** A POST with an \`Idempotency-Key\` runs once; the same request again gets the first answer.`;

const text = { type: 'string' } as const;

const headers: Document['components']['headers'] = {
  'X-Request-Id': { description: 'Names the request in the log of the service', schema: text },
  'X-Ignored-Fields': { description: 'Names in the input that are not known, separated by commas', schema: text },
  'X-Total-Count': { description: 'Items in the whole list', schema: { type: 'integer' } },
  'X-Commit-Sha': { description: 'The commit the request made', schema: text },
  'Idempotency-Replayed': { description: '`true` when this answer was given before', schema: text },
  'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer' } },
  Link: { description: 'RFC 8288: `first`, `prev`, `next` and `last` page of the list', schema: text },
  ETag: { description: 'Version of the answer, for `If-None-Match` and `If-Match`', schema: text },
  Location: { description: 'Path of what was made', schema: text },
};

const headerParameter = (name: string, description: string): Parameter => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: text,
});

const parameters = {
  'If-None-Match': headerParameter('If-None-Match', 'The `ETag` you hold; the answer is 304 when it is current'),
  'If-Match': headerParameter('If-Match', 'The `ETag` that must be current, otherwise the answer is 412'),
  'Idempotency-Key': headerParameter('Idempotency-Key', '1 to 255 printable ASCII characters; kept for a day'),
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

/** The OpenAPI 3.1 document of a table. It says nothing of an instance, so that one text serves all. */
export function openapiDocument(rows: readonly Row[]): Document {
  const writer = createSchemaWriter();
  const paths = pathsOf(rows, writer);
  const errorContent = { 'application/json': { schema: writer.write(errorShape) } };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Portico API',
      version: '2',
      summary: 'Content over git, through one typed interface',
      description: about,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This server' }],
    tags: tagsOf(rows),
    paths,
    components: {
      schemas: byName(writer.components),
      parameters,
      headers,
      responses: errorResponses(errorContent),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API token' } },
    },
  };
}

/** The document as the text of `openapi.json`. */
export const openapiText = (rows: readonly Row[]): string => `${JSON.stringify(openapiDocument(rows), null, 2)}\n`;
