import { statusOfResponse } from '../openapi/openapi-errors.ts';
import type { JsonSchema } from '../openapi/openapi-schemas.ts';
import type { Document, OperationObject, Parameter, ResponseObject } from '../openapi/openapi-types.ts';
import { type Html, html, inline, paragraphs } from './html.ts';
import { copyable, layout } from './layout.ts';

const nameOf = (reference: string) => reference.split('/').at(-1) ?? reference;

/** What a reference to a component stands for, or the item itself. */
export const resolve = <T extends object>(item: T | { $ref: string }, shared: Record<string, T>): T | undefined =>
  '$ref' in item && typeof item.$ref === 'string' ? shared[nameOf(item.$ref)] : (item as T);

const words: Record<string, string> = {
  'date-time': 'date and time',
  uuid: 'UUID',
  email: 'email address',
  uri: 'URL',
};

function joined(pieces: Html[], between: string): Html {
  return html`${pieces.map((piece, at) => (at === 0 ? piece : html`${between}${piece}`))}`;
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

/** The type of a value in words, with links to the named shapes. */
function typeText(schema: JsonSchema): Html {
  if (schema.$ref) return html`<a href="#shape-${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>`;
  // Beside an answer's own shape: that it may name ignored fields, which all commands do alike.
  if (schema.type === undefined && schema.allOf && isSchema(schema.allOf[0])) return typeText(schema.allOf[0]);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return joined(alternatives.filter(isSchema).map(typeText), ' or ');
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.type === 'array') {
    const items = Array.isArray(schema.items) ? undefined : schema.items;
    return isSchema(items) && Object.keys(items).length > 0 ? html`list of ${typeText(items)}` : html`list`;
  }
  if (schema.type === 'object' && isSchema(schema.additionalProperties) && schema.additionalProperties.type)
    return html`object of ${typeText(schema.additionalProperties)}`;
  if (schema.type === undefined) return html`any value`;
  return html`${words[schema.format ?? ''] ?? String(schema.type)}`;
}

const between = (least: unknown, most: unknown, unit = ''): string | null => {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? null : `at most ${most}${unit}`;
};

/** What a value must keep to, beyond its type. */
function bounds(schema: JsonSchema): Html[] {
  const { items } = schema;
  const values = schema.enum ?? (isSchema(items) && !Array.isArray(items) ? items.enum : undefined);
  const lines = [
    between(schema.minimum, schema.maximum),
    between(schema.minLength, schema.maxLength, ' characters'),
    between(schema.minItems, schema.maxItems, ' items'),
  ];
  return [
    ...(values
      ? [
          html`one of ${joined(
            values.map((value) => html`<code>${String(value)}</code>`),
            ', ',
          )}`,
        ]
      : []),
    ...lines.flatMap((line) => (line === null ? [] : [html`${line}`])),
    ...(schema.pattern ? [html`matches <code>${schema.pattern}</code>`] : []),
    ...(schema.default !== undefined ? [html`default <code>${JSON.stringify(schema.default)}</code>`] : []),
  ];
}

/** The bounds of a value as one line; empty when there are none. */
const boundsText = (schema: JsonSchema): Html => joined(bounds(schema), '; ');

/** An example value that fits a schema well enough to show where a real one is placed. */
export function sampleOf(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'array') {
    const items = Array.isArray(schema.items) ? undefined : schema.items;
    return isSchema(items) ? [sampleOf(items)] : [];
  }
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0;
  if (schema.type === 'boolean') return true;
  return schema.type === 'string' ? '…' : {};
}

/** Names that are there once the demo site is imported, so that a copied example has a chance to work. */
const known: Record<string, string> = { organization: 'demo', project: 'site', collection: 'posts' };

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** An example call: the required parts, and one field where none is required. */
function curlOf(
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

/** One endpoint of the document, with where it stands. */
interface Endpoint {
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

/** Fields as a table that becomes a list of blocks on narrow screens. */
function fieldTable(caption: string, fields: Field[]): Html | null {
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
function fieldsOf({ properties = {}, required = [] }: JsonSchema): Field[] {
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
const searchWords = ({ method, template, operation }: Endpoint): string =>
  [method, template, operation.operationId, operation.summary, operation['x-permission'], ...operation.tags]
    .join(' ')
    .toLowerCase();

/** One endpoint, whole. */
function endpointSection(endpoint: Endpoint, document: Document, publicUrl: string): Html {
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

const anchorOf = (tag: string) => `part-${tag.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;

function endpointsOf(document: Document, tag: string): Endpoint[] {
  return Object.entries(document.paths)
    .flatMap(([template, item]) => Object.entries(item).map(([method, operation]) => ({ template, method, operation })))
    .filter(({ operation }) => operation.tags.includes(tag));
}

function contents(groups: { name: string; endpoints: Endpoint[] }[]): Html {
  const link = (endpoint: Endpoint) => {
    const { operationId, summary } = endpoint.operation;
    return html`<li data-words="${searchWords(endpoint)}" data-of="${operationId}"><a href="#${operationId}"><span class="method ${endpoint.method}">${endpoint.method.toUpperCase()}</span> ${summary}</a></li>\n`;
  };
  return html`<details id="contents" open>
<summary>Contents</summary>
<nav aria-label="Endpoints">
${groups.map(
  ({ name, endpoints }) => html`<div data-group><h2><a href="#${anchorOf(name)}">${name}</a></h2>
<ul>${endpoints.map(link)}</ul></div>\n`,
)}<div><h2><a href="#errors">Errors</a></h2></div>
<div><h2><a href="#shapes">Shapes</a></h2></div>
</nav>
</details>`;
}

function errors({ components }: Document): Html {
  const responses = Object.entries(components.responses).filter(([name]) => statusOfResponse[name] !== undefined);
  return html`<section id="errors"><h2>Errors</h2>
<p>Every error has the same body, ${typeText({ $ref: '#/components/schemas/Error' })}.</p>
<dl class="statuses">
${responses.map(([name, response]) => html`<dt id="error-${statusOfResponse[name]}">${statusOfResponse[name]}</dt><dd>${inline(response.description)}</dd>\n`)}</dl>
</section>`;
}

function shapes({ components }: Document): Html {
  return html`<section id="shapes"><h2>Shapes</h2>
${Object.entries(components.schemas).map(([name, schema]) => {
  const table = fieldTable('Fields', fieldsOf(schema));
  return html`<section class="shape" id="shape-${name}"><h3><a href="#shape-${name}">${name}</a></h3>
${schema.description && html`<p>${inline(schema.description)}</p>`}
${table ?? html`<p>${typeText(schema)}<span class="bounds">${boundsText(schema)}</span></p>`}
</section>\n`;
})}</section>`;
}

/** The page at `/reference`: the OpenAPI document for people. */
export function referencePage(document: Document, publicUrl: string): string {
  const groups = document.tags.map((tag) => ({ ...tag, endpoints: endpointsOf(document, tag.name) }));
  return layout({
    title: 'API reference · Portico',
    path: '/reference',
    styles: ['reference.css'],
    scripts: ['reference.js'],
    main: html`<div class="reference">
<aside>
<div class="search" hidden><label for="search">Search endpoints</label>
<input id="search" type="search" placeholder="entry, PUT, edit_studio …" aria-keyshortcuts="/">
<p id="found" class="note" role="status"></p></div>
${contents(groups)}
</aside>
<div class="text">
<h1>API reference</h1>
<div class="about">
<p class="lead">All paths are below <code>${publicUrl}</code>.
<a href="/api/v2/openapi.json">The same as OpenAPI 3.1</a></p>
${paragraphs(document.info.description)}
</div>
${groups.map(
  ({ name, description, endpoints }) => html`<section data-group class="part" id="${anchorOf(name)}"><h2>${name}</h2>
<p class="about">${inline(description)}</p>
${endpoints.map((endpoint) => endpointSection(endpoint, document, publicUrl))}</section>\n`,
)}
${errors(document)}
${shapes(document)}
</div>
</div>`,
  });
}
