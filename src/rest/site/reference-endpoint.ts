import { statusOfResponse } from '../openapi/openapi-errors.ts';
import type { JsonSchema } from '../openapi/openapi-schemas.ts';
import type { Document, OperationObject, Parameter, ResponseObject } from '../openapi/openapi-types.ts';
import { curlOf } from './curl.ts';
import { type Html, html, inline } from './html.ts';
import { copyable } from './layout.ts';
import { boundsText, resolve, typeText } from './schema-text.ts';

/** One endpoint of the document, with where it stands. */
export interface Endpoint {
  method: string;
  template: string;
  operation: OperationObject;
}

/** A field or parameter as a row of a table. */
interface Field {
  name: string;
  isRequired: boolean;
  text: string | undefined;
  schema: JsonSchema;
}

/** Fields as a table that turns into a list of blocks where it is narrow. */
export function fieldTable(caption: string, fields: Field[]): Html | null {
  if (fields.length === 0) return null;
  return html`<table class="fields">
<caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${fields.map(({ name, isRequired, text, schema }) => {
  const limits = boundsText(schema);
  return html`<tr><th scope="row"><code>${name}</code>${isRequired && html` <span class="required">required</span>`}</th>
<td>${typeText(schema)}</td>
<td>${text && inline(text)}${limits.text !== '' && html`<span class="bounds">${limits}</span>`}</td></tr>\n`;
})}</tbody>
</table>`;
}

/** The members of an object shape. */
export function fieldsOf({ properties = {}, required = [] }: JsonSchema): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    typeof schema === 'object' ? [{ name, isRequired: required.includes(name), text: schema.description, schema }] : [],
  );
}

function parameterTables({ parameters = [] }: OperationObject, { components }: Document): (Html | null)[] {
  const all = parameters.flatMap((item) => resolve<Parameter>(item, components.parameters) ?? []);
  const table = (caption: string, place: Parameter['in']) =>
    fieldTable(
      caption,
      all
        .filter((item) => item.in === place)
        .map((item) => ({ name: item.name, isRequired: item.required, text: item.description, schema: item.schema })),
    );
  return [table('In the path', 'path'), table('In the query', 'query'), table('Headers', 'header')];
}

function answer(status: string, { description, headers = {}, content = {} }: ResponseObject): Html {
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    type === 'application/json'
      ? html`: ${typeText(schema)}`
      : html`, or <code>${type === '*/*' ? 'the bytes themselves' : type}</code>`,
  );
  const names = Object.keys(headers).filter((name) => name !== 'X-Request-Id' && name !== 'X-Ignored-Fields');
  return html`<li><strong>${status}</strong> ${inline(description)}${bodies}${
    names.length > 0 &&
    html`<span class="bounds">with ${names.map((name, at) => html`${at > 0 && ', '}<code>${name}</code>`)}</span>`
  }</li>\n`;
}

/** Refusals that all endpoints share are explained once; those of their own, and all other answers, at the endpoint. */
function answers({ responses }: OperationObject, { components }: Document): Html {
  const entries = Object.entries(responses);
  const isShared = (item: object) =>
    '$ref' in item && statusOfResponse[String(item.$ref).split('/').at(-1) ?? ''] !== undefined;
  const errors = entries.filter(([, item]) => isShared(item)).map(([status]) => status);
  const own = entries.flatMap(([status, item]) => {
    const response = resolve<ResponseObject>(item, components.responses);
    return response && !errors.includes(status) ? answer(status, response) : [];
  });
  return html`<h4>Answers</h4>
<ul class="answers">
${own}</ul>
<p class="errors">Errors: ${errors.map((status, at) => html`${at > 0 && ', '}<a href="#error-${status}">${status}</a>`)}</p>`;
}

/** The words an endpoint is found by. */
export const searchWords = ({ method, template, operation }: Endpoint): string =>
  [method, template, operation.operationId, operation.summary, operation['x-permission'], ...operation.tags]
    .join(' ')
    .toLowerCase();

/** One endpoint, whole. */
export function endpointSection(endpoint: Endpoint, document: Document, publicUrl: string): Html {
  const { method, template, operation } = endpoint;
  const { operationId, summary, description, requestBody } = operation;
  const path = template.split(/(\{[a-z_]+\})/).map((part) => (part.startsWith('{') ? html`<var>${part}</var>` : part));
  const json = requestBody?.content['application/json']?.schema;
  const body = json && resolve<JsonSchema>(json, document.components.schemas);
  return html`<section class="endpoint" id="${operationId}" data-words="${searchWords(endpoint)}" aria-labelledby="${operationId}-name">
<h3 id="${operationId}-name"><a href="#${operationId}">${summary}</a></h3>
<p class="call"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
<p>${inline(description)}</p>
${parameterTables(operation, document)}
${body && fieldTable('Fields of the JSON body', fieldsOf(body))}
${answers(operation, document)}
${copyable(`Example: ${summary}`, curlOf(publicUrl, method, template, operation, document))}
</section>\n`;
}
