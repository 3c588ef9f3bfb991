import type { JsonSchema } from '../../kernel/shapes.ts';
import type { Row } from '../table.ts';

/** The parts of the interface in the words of its readers; a part not named here is called by its own name. */
const parts: Record<string, { name: string; description: string }> = {
  organizations: { name: 'Organisations', description: 'The tenants of this instance.' },
  projects: { name: 'Projects', description: 'Each project has one git repository with the content of one site.' },
  identity: { name: 'Access', description: 'API tokens: who may do what, where, and until when.' },
  audit: { name: 'Audit', description: 'What was done, by whom, with what outcome.' },
  studio: {
    name: 'Studio',
    description:
      'The content in the repository: schemas, entries, files, branches and commits. Every write is a commit.',
  },
  crawlers: { name: 'Crawlers', description: 'Crawlers, their schedules, runs and snapshots.' },
  workflows: { name: 'Workflows', description: 'Workflows, their triggers and executions.' },
};

function partOf({ operation }: Row): { name: string; description: string } {
  const part = operation.name.split('.')[0] ?? '';
  return parts[part] ?? { name: part.charAt(0).toUpperCase() + part.slice(1), description: `The ${part} part.` };
}

/** The name of the part a row belongs to. */
export const tagOf = (row: Row): string => partOf(row).name;

/** The parts of a table, in its order. */
export function tagsOf(rows: readonly Row[]): { name: string; description: string }[] {
  return [...new Map(rows.map((row) => [tagOf(row), partOf(row)])).values()].map((part) => ({ ...part }));
}

/** The parts of OpenAPI 3.1 that the document uses. */
// An alias, because a schema may be a reference and has an index signature, which interfaces have not.
export type Reference = { $ref: string };

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  style?: 'form' | 'deepObject';
  explode?: boolean;
  schema: JsonSchema;
}

interface MediaTypes {
  [type: string]: { schema: JsonSchema };
}

export interface ResponseObject {
  description: string;
  headers?: Record<string, Reference>;
  content?: MediaTypes;
}

export interface OperationObject {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: readonly Record<string, string[]>[];
  'x-permission': string;
  'x-further-permissions'?: Record<string, string>;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: MediaTypes };
  responses: Record<string, ResponseObject | Reference>;
}

export interface Document {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: object };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    schemas: Record<string, JsonSchema>;
    parameters: Record<string, Parameter>;
    headers: Record<string, { description: string; schema: JsonSchema }>;
    responses: Record<string, ResponseObject>;
    securitySchemes: Record<string, object>;
  };
}
