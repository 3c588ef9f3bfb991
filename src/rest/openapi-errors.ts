import { z } from 'zod';
import { errorCodes } from '../domain/errors.ts';
import { fieldFault } from '../domain/shapes.ts';
import { statusOf } from './errors.ts';
import type { ResponseObject } from './openapi-types.ts';
import type { Row } from './table.ts';

/** The body of every refusal. */
export const errorShape = z
  .object({
    message: z.string().describe("For people; begins with the field's dotted name when one field is at fault"),
    error: z.literal(true),
    code: z.enum(errorCodes).describe('For programs'),
    details: z
      .looseObject({ errors: z.array(fieldFault).optional() })
      .optional()
      .describe('What is wrong in each place'),
    request_id: z.string().describe('Names the request in the log of the service; also `X-Request-Id`'),
  })
  .meta({ id: 'Error' });

/** Documented refusals: the name of the shared response, and when it is given. */
const refusals = {
  400: ['BadRequest', 'The request could not be understood: not JSON, a field of the wrong type or out of bounds'],
  401: ['Unauthorized', 'No credential, or one that is unknown, expired or revoked'],
  403: ['Forbidden', 'The credential lacks the permission, or has no access to the organisation or project'],
  404: ['NotFound', 'Something the request names does not exist'],
  409: ['Conflict', 'The request does not fit the present state: a taken name, a version that has moved'],
  412: ['PreconditionFailed', '`If-Match` names another version than the present one'],
  413: ['PayloadTooLarge', 'The body, or what it would make, is over the limit'],
  415: ['UnsupportedMediaType', 'The body is not JSON'],
  422: ['UnprocessableContent', 'Well-formed, but not valid as content'],
  429: ['TooManyRequests', 'Over the rate limit; `Retry-After` says when to come back'],
  503: [
    'ServiceUnavailable',
    'The database, a repository or an upstream is away; try again after `Retry-After` seconds',
  ],
} as const;

type Refusal = keyof typeof refusals;

/** Statuses of the shared responses, by their names. */
export const statusOfResponse: Record<string, number> = Object.fromEntries(
  Object.entries(refusals).map(([status, [name]]) => [name, Number(status)]),
);

/** The shared responses of the document. */
export function errorResponses(schema: ResponseObject['content']): Record<string, ResponseObject> {
  return Object.fromEntries(
    Object.entries(refusals).map(([status, [name, when]]) => {
      const codes = errorCodes.filter((code) => statusOf[code] === Number(status));
      const response: ResponseObject = {
        description: `${when}. Codes: ${codes.map((code) => `\`${code}\``).join(', ')}`,
        headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
        ...(schema && { content: schema }),
      };
      if (status === '429' || status === '503')
        response.headers = { ...response.headers, 'Retry-After': { $ref: '#/components/headers/Retry-After' } };
      return [name, response];
    }),
  );
}

/** The refusals a row can answer with, by status. */
export function refusalsOf(
  row: Row,
  facts: { hasBody: boolean; isConditional: boolean },
): Record<string, { $ref: string }> {
  const { operation, path } = row;
  const isCommand = operation.kind === 'command';
  const applies: Record<Refusal, boolean> = {
    400: true,
    401: operation.permission !== 'public',
    403: operation.permission !== 'public',
    404: /[:*]/.test(path),
    409: isCommand || operation.conflicts === true,
    412: facts.isConditional,
    413: facts.hasBody,
    415: facts.hasBody,
    422: isCommand || operation.scope === 'project',
    429: true,
    503: true,
  };
  const statuses = (Object.keys(refusals) as unknown as Refusal[]).filter((status) => applies[status]);
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${refusals[status][0]}` }]),
  );
}
