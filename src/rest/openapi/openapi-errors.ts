import { z } from 'zod';
import { errorCodes } from '../../kernel/errors.ts';
import { fieldFault } from '../../kernel/shapes.ts';
import { statusOf } from '../errors.ts';
import type { Row } from '../table.ts';
import type { Reference, ResponseObject } from './openapi-types.ts';

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
  408: ['RequestTimeout', 'The body did not arrive in time'],
  409: ['Conflict', 'The request conflicts with the present state: a name is taken, a version has moved'],
  412: ['PreconditionFailed', '`If-Match` names another version than the stored one'],
  413: ['PayloadTooLarge', 'The body, what it would create, or the answer is over the limit'],
  414: ['UriTooLong', 'The URL is longer than 16 KiB'],
  415: ['UnsupportedMediaType', 'The body has a media type or an encoding that is not accepted'],
  417: ['ExpectationFailed', '`Expect` asks for something other than `100-continue`'],
  422: ['UnprocessableContent', 'Well-formed, but not valid as content'],
  428: ['PreconditionRequired', 'The project requires `If-Match` or `sha` on this request'],
  429: ['TooManyRequests', 'Over the rate limit; `Retry-After` says when to try again'],
  431: ['HeaderFieldsTooLarge', 'The header block is larger than 32 KiB'],
  500: ['InternalError', 'A fault of the service; its log has more under the request id'],
  503: [
    'ServiceUnavailable',
    'The database, a repository or an upstream is not available; try again after `Retry-After` seconds',
  ],
} as const;

/** Answered below HTTP semantics, where no operation is known yet, with a general code. */
const codesBelow: Record<string, readonly string[]> = {
  417: ['invalid_request'],
  431: ['invalid_request'],
};

type Refusal = keyof typeof refusals;

/** Headers that belong to one refusal. */
const ownHeaders: Record<string, string> = { 401: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' };

const header = (name: string): Reference => ({ $ref: `#/components/headers/${name}` });

/** Headers of every answer given after the input was read. */
export const headersOfRead: Record<string, Reference> = Object.fromEntries(
  ['X-Request-Id', 'X-Ignored-Fields', 'Preference-Applied'].map((name) => [name, header(name)]),
);

/** Given also after the input was read, with the headers that say how. */
const afterRead = ['400', '401', '403', '404', '409', '412', '413', '422', '428', '500', '503'];

/** The shared responses of the document. */
export function errorResponses(schema: ResponseObject['content']): Record<string, ResponseObject> {
  return Object.fromEntries(
    Object.entries(refusals).map(([status, [name, when]]) => {
      const codes = codesBelow[status] ?? errorCodes.filter((code) => statusOf[code] === Number(status));
      const response: ResponseObject = {
        description: `${when}. Codes: ${codes.map((code) => `\`${code}\``).join(', ')}`,
        headers: afterRead.includes(status) ? headersOfRead : { 'X-Request-Id': header('X-Request-Id') },
        ...(schema && { content: schema }),
      };
      const own = ownHeaders[status];
      if (own) response.headers = { ...response.headers, [own]: header(own) };
      return [name, response];
    }),
  );
}

/** The refusals a row can answer with, by status. */
export function refusalsOf(row: Row): Record<string, { $ref: string }> {
  const { operation, path } = row;
  const isCommand = operation.kind === 'command';
  const isPublic = operation.permission === 'public';
  const applies: Record<Refusal, boolean> = {
    400: true,
    401: !isPublic || row.signedBy !== undefined,
    403: !isPublic,
    404: /[:*]/.test(path),
    // A body is read wherever one is sent, also with GET, and where it holds no field.
    408: true,
    409: isCommand || operation.mayConflict === true,
    412: operation.comparesTag === true,
    413: true,
    414: true,
    415: true,
    417: true,
    422: isCommand || operation.scope === 'project',
    428: operation.mayRequireTag === true,
    429: true,
    431: true,
    500: true,
    503: true,
  };
  const statuses = (Object.keys(refusals) as unknown as Refusal[]).filter((status) => applies[status]);
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${refusals[status][0]}` }]),
  );
}
