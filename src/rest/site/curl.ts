import type { JsonSchema } from '../openapi/openapi-schemas.ts';
import type { Document, OperationObject, Parameter } from '../openapi/openapi-types.ts';
import { resolve, sampleOf } from './schema-text.ts';

/** Names that are there once the demo site is imported, so that a copied example has a chance to work. */
const known: Record<string, string> = { organization: 'demo', project: 'site', collection: 'posts' };

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** An example call: the required parts, and one field where none is required. */
export function curlOf(
  publicUrl: string,
  method: string,
  template: string,
  operation: OperationObject,
  { components }: Document,
): string {
  const parameters = (operation.parameters ?? []).flatMap(
    (item) => resolve<Parameter>(item, components.parameters) ?? [],
  );
  const path = template.replace(/\{([a-z_]+)\}/g, (_, name: string) => known[name] ?? name.toUpperCase());
  const query = parameters
    .filter((item) => item.in === 'query' && item.required)
    .map(
      (item) =>
        `${item.name}=${encodeURIComponent(item.schema.type === 'string' ? item.name.toUpperCase() : String(sampleOf(item.schema)))}`,
    );
  const lines = [`curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} -H "Authorization: Bearer $TOKEN"`];
  const json = operation.requestBody?.content['application/json']?.schema;
  const { properties = {}, required = [] } = (json && resolve<JsonSchema>(json, components.schemas)) ?? {};
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  if (operation.requestBody) {
    const body = Object.fromEntries(
      names.map((name) => [name, typeof properties[name] === 'object' ? sampleOf(properties[name]) : '…']),
    );
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  }
  lines.push(quoted(`${publicUrl}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`));
  return lines.join(' \\\n  ');
}
