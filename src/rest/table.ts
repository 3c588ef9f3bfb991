import type { z } from 'zod';
import type { AnyOperation } from '../kernel/operation.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface RawAnswer {
  type: string;
  content: Buffer;
  headers: Record<string, string>;
}

/** One URL of the REST interface. Paths are Express 5 patterns; `*name` takes the rest of the URL. */
export interface Row {
  method: Method;
  path: string;
  operation: AnyOperation;
  status: number;
  /** Another status, when the named boolean of the output is true: `{unchanged: 200}`. */
  also?: Record<string, number>;
  /** Path of the thing that was made, below the request's own path: its last segments. */
  location?: (output: never) => string;
  /** Largest JSON body, bytes. */
  bodyLimit?: number;
  /** Takes files as multipart/form-data too. */
  multipart?: true;
  /** Accepts a body of any type, whose bytes are signed in this header; nothing of it becomes input. */
  signedBy?: string;
  /** The body, where REST shows another shape of the output. */
  present?: { schema: z.ZodType; from(output: never): unknown };
  /** The answer holds a secret: nothing on its way may keep it. */
  secret?: true;
  /** A list that is given as lines of JSON too (`Accept: application/x-ndjson`). */
  lines?: true;
  /** Type of what `raw` or `stream` sends; of any type when it is not given. */
  media?: 'text/plain' | 'application/yaml' | 'application/warc';
  /** Answers with the bytes an operation has attached; null means JSON. */
  raw?: (
    output: never,
    input: Record<string, unknown>,
    bytes: Buffer | undefined,
    accepts: (type: string) => boolean,
  ) => RawAnswer | null;
  /** Sends what an operation has attached as it is made. */
  stream?: (output: never) => { type: string; headers: Record<string, string> };
}

type Options = Omit<Row, 'method' | 'path' | 'operation' | 'status'>;

const rowOf =
  (method: Method) =>
  (path: string, operation: AnyOperation, status: number, options: Options = {}): Row => ({
    method,
    path,
    operation,
    status,
    ...options,
  });

export const get = rowOf('get');
export const post = rowOf('post');
export const put = rowOf('put');
export const patch = rowOf('patch');
export const del = rowOf('delete');

export const mebibyte = 1024 * 1024;
export const defaultBodyLimit = 10 * mebibyte;

/** Names of the parameters in a path, greedy ones included. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/[:*]([a-z_]+)/g)].map((match) => match[1] ?? '');
}
