import { statusOfResponse } from '../openapi/openapi-errors.ts';
import type { Document } from '../openapi/openapi-types.ts';
import { type Html, html, inline, paragraphs } from './html.ts';
import { layout } from './layout.ts';
import { type Endpoint, endpointSection, fieldsOf, fieldTable, searchWords } from './reference-endpoint.ts';
import { boundsText, typeText } from './schema-text.ts';

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
