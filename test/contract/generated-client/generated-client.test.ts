import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';

const openapi = new URL('../../../openapi.json', import.meta.url);

/** A client as an integrator would write it: every line compiles, but those marked as errors. */
const usage = `
import type { components, operations, paths } from './schema.js';

type Schemas = components['schemas'];
type IsAny<T> = 0 extends 1 & T ? true : false;
type IsUnknown<T> = IsAny<T> extends true ? false : unknown extends T ? true : false;
/** Compiles only for a type that says something. */
const known = <T>(value: IsAny<T> extends true ? never : IsUnknown<T> extends true ? never : T): T => value as T;

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never;
type Body<T> = T extends { requestBody?: { content: { 'application/json': infer Input } } } ? Input : never;
type Answer<Id extends keyof operations, Status extends keyof operations[Id]['responses']> = Json<operations[Id]['responses'][Status]>;

declare const entry: Answer<'getEntry', 200>;
export const title: string = known(entry.title);
export const front: Record<string, Schemas['JsonValue']> | null = known(entry.frontmatter);
export const nested: Schemas['JsonValue'] | undefined = known(entry.frontmatter?.hero);
if (typeof nested === 'object' && nested !== null && !Array.isArray(nested)) known<Schemas['JsonValue'] | undefined>(nested.image);

declare const entries: Answer<'listEntries', 200>;
export const slugs: string[] = entries.map((it) => known(it.slug));

declare const run: Answer<'getExecution', 200>;
export const started: string | null = known(run.started_at);
export const status: 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' = known(run.status);
export const output: Schemas['JsonValue'] = known(run.output);

declare const schema: Answer<'getSchema', 200>;
export const deep: Schemas['SchemaField'] | undefined = schema.fields[0]?.fields?.[0]?.fields?.[0];

declare const crawler: Answer<'updateCrawler', 200>;
export const seconds: number | undefined = crawler.assets?.network_intercept?.timeout;

export const draft: Body<operations['createEntry']> = { slug: 'a', frontmatter: { title: 'A', tags: ['x'] }, body: 'Text' };
// @ts-expect-error a slug is text
export const wrong: Body<operations['createEntry']> = { slug: 1 };
// @ts-expect-error an action has one of the listed operations
export const action: Schemas['ChangeAction'] = { op: 'rename', collection: 'posts', slug: 'a' };

declare const refusal: Answer<'createEntry', 409>;
export const code: Schemas['Error']['code'] = known(refusal.code);
// @ts-expect-error the list of codes is closed
export const other: Schemas['Error']['code'] = 'nonsense';

export const accepted: Answer<'callWebhook', 202> = { executionId: 'e' };
export const list: keyof paths = '/git/{organization}/{project}.git/info/refs';
export const query: NonNullable<operations['listCrawlers']['parameters']['query']> = { page: 2, per_page: 100 };
`;

let directory: string;
let text: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'portico-client-'));
  text = astToString(await openapiTS(openapi));
  await writeFile(path.join(directory, 'schema.ts'), text);
  await writeFile(path.join(directory, 'usage.ts'), usage);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it('compiles strictly with the types openapi-typescript makes of openapi.json, and they are real', () => {
  const program = ts.createProgram([path.join(directory, 'usage.ts')], {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: [],
  });
  const faults = ts.getPreEmitDiagnostics(program).map(({ messageText, file, start = 0 }) => {
    const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${path.basename(file?.fileName ?? '')}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
  expect(faults).toEqual([]);
});

it('has no type that says nothing, but for what free JSON holds three lists deep and the headers of all responses', async () => {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replaceAll('[name: string]: unknown;', '');
  const vague = code.split('\n').filter((line) => /(?<!")\b(unknown|any)\b(?!")/.test(line));
  expect(vague.map((line) => line.trim().split(':')[0])).toEqual(['JsonValue']);
  const { paths } = JSON.parse(await readFile(openapi, 'utf8'));
  for (const template of Object.keys(paths)) expect(text).toContain(`"${template}": {`);
});
