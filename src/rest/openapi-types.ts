import type { JsonSchema } from './openapi-schemas.ts';

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
