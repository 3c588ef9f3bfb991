import type { JsonSchema } from '../../kernel/shapes.ts';
import type { Document, OperationObject, Parameter, Reference, ResponseObject } from './openapi-types.ts';

// The addresses that are served beside the table: the webhook of workflows, git's smart HTTP, GraphQL, health and metrics. Some answer refusals in
// forms of their own.

const component = (place: string, name: string): Reference => ({ $ref: `#/components/${place}/${name}` });
const header = (name: string): Reference => component('headers', name);
const text: JsonSchema = { type: 'string' };

/** Parts of the document outside the table of routes. */
export interface ProtocolParts {
  paths: Document['paths'];
  tags: Document['tags'];
  schemas: Document['components']['schemas'];
  responses: Document['components']['responses'];
  securitySchemes: Document['components']['securitySchemes'];
}

const parameter = (place: Parameter['in'], name: string, description: string, rest: Partial<Parameter> = {}) => ({
  name,
  in: place,
  required: place === 'path',
  description,
  schema: text,
  ...rest,
});

/** Methods of the webhook, with the name of the call. In `hmac` mode only POST is answered. */
const webhookMethods = {
  get: 'callWebhookByGet',
  post: 'callWebhook',
  put: 'callWebhookByPut',
  patch: 'callWebhookByPatch',
  delete: 'callWebhookByDelete',
} as const;

const deduplication = ['X-GitHub-Delivery', 'webhook-id', 'Idempotency-Key', 'X-Gitlab-Event-UUID'];

function webhookRefusal(description: string, own: string[] = []): ResponseObject {
  return {
    description,
    headers: Object.fromEntries(['X-Request-Id', ...own].map((name) => [name, header(name)])),
    content: { 'application/json': { schema: component('schemas', 'WebhookError') } },
  };
}

/** The answers of the webhook, by their names as components. */
const webhookResponses: Record<string, ResponseObject> = {
  WebhookAccepted: {
    description: 'Accepted: the call is stored and an execution of the workflow was created',
    headers: { 'X-Request-Id': header('X-Request-Id'), 'Idempotency-Replayed': header('Idempotency-Replayed') },
    content: { 'application/json': { schema: component('schemas', 'WebhookAccepted') } },
  },
  WebhookUnauthorized: webhookRefusal(
    'No secret is configured, or the secret or signature is missing or wrong; in `hmac` mode also every method but POST. `error` is `Unauthorized`',
    ['WWW-Authenticate'],
  ),
  WebhookNotConfigured: webhookRefusal(
    'The workflow is unknown, deleted or disabled, or has no enabled webhook trigger. `error` is `Workflow webhook not configured`',
  ),
  WebhookMethodNotAllowed: webhookRefusal('In `secret` mode: the trigger does not accept this method', ['Allow']),
  WebhookTimeout: webhookRefusal('The body did not arrive within 30 s'),
  WebhookTooLarge: webhookRefusal(
    'The body is over the limit, 25 MiB unless configured otherwise, as sent or decompressed',
  ),
  WebhookUnsupportedEncoding: webhookRefusal('`Content-Encoding` is not one of gzip, deflate and br'),
  WebhookTooMany: webhookRefusal(
    'Too many calls with a wrong signature, over the rate limit of the trigger, or too many pending executions',
    ['Retry-After'],
  ),
  WebhookUnavailable: webhookRefusal('The call could not be stored, or the secret could not be read; send it again', [
    'Retry-After',
  ]),
};

const webhookStatuses = {
  202: 'WebhookAccepted',
  401: 'WebhookUnauthorized',
  404: 'WebhookNotConfigured',
  405: 'WebhookMethodNotAllowed',
  408: 'WebhookTimeout',
  413: 'WebhookTooLarge',
  415: 'WebhookUnsupportedEncoding',
  417: 'ExpectationFailed',
  429: 'WebhookTooMany',
  431: 'HeaderFieldsTooLarge',
  503: 'WebhookUnavailable',
};

const referencesTo = (names: Record<string, string>): OperationObject['responses'] =>
  Object.fromEntries(Object.entries(names).map(([status, name]) => [status, component('responses', name)]));

function webhookCall(method: keyof typeof webhookMethods): OperationObject {
  const bySecret = [{ webhookSecret: [] }, { webhookToken: [] }];
  const hasBody = method !== 'get' && method !== 'delete';
  return {
    operationId: webhookMethods[method],
    summary:
      method === 'post'
        ? 'Start a workflow by its webhook'
        : `Start a workflow by its webhook, with ${method.toUpperCase()}`,
    description: [
      'Needs the secret of the webhook trigger instead of an API token. The body may have any media type and is stored as sent.',
      method === 'post'
        ? 'In `secret` mode the secret is sent as a bearer token or in `token`; in `hmac` mode the bytes of the body are signed with it.'
        : 'Accepted in `secret` mode only, and only when the trigger lists the method.',
      `A repeat with the same delivery key (${deduplication.map((name) => `\`${name}\``).join(', ')}; the first one present counts) within 24 hours is answered with the execution of the first call.`,
    ].join(' '),
    tags: ['Webhook'],
    security: method === 'post' ? [...bySecret, { webhookSignature: [] }] : bySecret,
    'x-permission': 'public',
    parameters: [
      parameter('path', 'workflow', 'Id of the workflow', { schema: { type: 'string', format: 'uuid' } }),
      ...deduplication.map((name) =>
        parameter('header', name, 'Delivery key', { schema: { type: 'string', minLength: 1, maxLength: 200 } }),
      ),
    ],
    ...(hasBody && {
      requestBody: {
        required: false,
        content: {
          'application/json': { schema: component('schemas', 'JsonValue') },
        },
      },
    }),
    responses: referencesTo(webhookStatuses),
  };
}

const gitRefusal = (description: string, own: string[] = []): ResponseObject => ({
  description: `${description}. The body is one line of text, which git shows`,
  headers: Object.fromEntries(['X-Request-Id', ...own].map((name) => [name, header(name)])),
  content: { 'text/plain': { schema: text } },
});

/** The refusals of git's requests, by their names as components. */
const gitResponses: Record<string, ResponseObject> = {
  GitBadRequest: gitRefusal('The request could not be understood'),
  GitUnauthorized: gitRefusal('No token, or one that is unknown, expired or revoked', ['WWW-Authenticate']),
  GitForbidden: gitRefusal('The token lacks the permission, or the client does not use the smart protocol'),
  GitNotFound: gitRefusal('There is no such organisation or project'),
  GitTimeout: gitRefusal('The body did not arrive in time'),
  GitTooLarge: gitRefusal('The body is over the limit'),
  GitUriTooLong: gitRefusal('The URL is longer than 16 KiB'),
  GitUnsupportedMedia: gitRefusal('The body has another media type, or an encoding other than gzip'),
  GitTooMany: gitRefusal('Over the rate limit', ['Retry-After']),
  GitInternalError: gitRefusal('A fault of the service'),
  GitUnavailable: gitRefusal('The repository or the database is not available', ['Retry-After']),
};
const gitStatuses = {
  400: 'GitBadRequest',
  401: 'GitUnauthorized',
  403: 'GitForbidden',
  404: 'GitNotFound',
  414: 'GitUriTooLong',
  417: 'ExpectationFailed',
  429: 'GitTooMany',
  431: 'HeaderFieldsTooLarge',
  500: 'GitInternalError',
  503: 'GitUnavailable',
};
/** Those of requests that have a body. */
const gitBodyStatuses = { 408: 'GitTimeout', 413: 'GitTooLarge', 415: 'GitUnsupportedMedia' };

/** One request of git's smart HTTP protocol (gitprotocol-http). */
function gitRequest(
  service: string | null,
  {
    operationId,
    summary,
    description,
    permission,
  }: Record<'operationId' | 'summary' | 'description' | 'permission', string>,
): OperationObject {
  const types = service === null ? null : [`application/x-${service}-request`, `application/x-${service}-result`];
  const binary = { schema: { type: 'string', format: 'binary' } as JsonSchema };
  const answer = types
    ? { [types[1] ?? '']: binary }
    : {
        'application/x-git-upload-pack-advertisement': binary,
        'application/x-git-receive-pack-advertisement': binary,
      };
  return {
    operationId,
    summary,
    description: `${description} An API token is sent as the password of HTTP Basic authentication, with any user name, or as a bearer token.`,
    tags: ['Git'],
    security: [{ basic: [] }, { bearer: [] }],
    'x-permission': permission,
    parameters: [
      component('parameters', 'organization'),
      component('parameters', 'project'),
      ...(types
        ? []
        : [
            parameter('query', 'service', 'Which service the client is going to use', {
              required: true,
              schema: { type: 'string', enum: ['git-upload-pack', 'git-receive-pack'] },
            }),
          ]),
      parameter('header', 'Git-Protocol', 'Version of the protocol', {
        schema: { type: 'string', enum: ['version=0', 'version=1', 'version=2'] },
      }),
    ],
    ...(types && { requestBody: { required: true, content: { [types[0] ?? '']: binary } } }),
    responses: {
      200: {
        description: types
          ? 'What the service answers, in packet lines'
          : 'The refs of the repository, in packet lines',
        headers: { 'X-Request-Id': header('X-Request-Id') },
        content: answer,
      },
      ...referencesTo({ ...gitStatuses, ...(types && gitBodyStatuses) }),
    },
  };
}

/** What every request of Git LFS is answered with, once it has signed in. */
function lfsRequest(): OperationObject {
  const refusal = (description: string, own: string[] = []): ResponseObject => ({
    description,
    headers: Object.fromEntries(['X-Request-Id', ...own].map((name) => [name, header(name)])),
    content: { 'application/vnd.git-lfs+json': { schema: component('schemas', 'LfsError') } },
  });
  return {
    operationId: 'refuseLfs',
    summary: 'Say to Git LFS that its files are not stored here',
    description:
      'Stands for every address of the Git LFS API below `info/lfs`. Needs the permission `browse_studio`. Files are pushed as they are, or kept where `lfs.url` of `.lfsconfig` says.',
    tags: ['Git'],
    security: [{ basic: [] }, { bearer: [] }],
    'x-permission': 'browse_studio',
    parameters: [component('parameters', 'organization'), component('parameters', 'project')],
    requestBody: {
      required: false,
      content: { 'application/vnd.git-lfs+json': { schema: component('schemas', 'JsonValue') } },
    },
    responses: {
      401: refusal('No token, or one that is unknown, expired or revoked', ['WWW-Authenticate']),
      403: refusal('The token lacks the permission'),
      404: refusal('There is no such organisation or project'),
      501: refusal('Git LFS is not stored here; `message` says what to do instead'),
      ...referencesTo({
        414: 'GitUriTooLong',
        417: 'ExpectationFailed',
        429: 'GitTooMany',
        431: 'HeaderFieldsTooLarge',
      }),
      500: refusal('A fault of the service'),
      503: refusal('The database is not available', ['Retry-After']),
    },
  };
}

function graphqlRequest(): OperationObject {
  const answer = (description: string): ResponseObject => ({
    description,
    headers: { 'X-Request-Id': header('X-Request-Id') },
    content: { 'application/json': { schema: component('schemas', 'GraphqlAnswer') } },
  });
  return {
    operationId: 'graphql',
    summary: 'Execute a GraphQL document',
    description:
      'The schema is `schema.graphql`. Each field needs the permission of its operation; errors of fields are in `errors` of an answer with status 200. Queries may be sent with GET, too, with the header `Apollo-Require-Preflight`.',
    tags: ['GraphQL'],
    security: [{ bearer: [] }],
    'x-permission': 'public',
    requestBody: {
      required: true,
      content: { 'application/json': { schema: component('schemas', 'GraphqlRequest') } },
    },
    responses: {
      200: answer('What the document asks for, with the errors of its fields'),
      400: {
        description: 'The body or the document could not be understood, or is over a limit of documents',
        headers: { 'X-Request-Id': header('X-Request-Id') },
        content: {
          'application/json': {
            schema: { anyOf: ['GraphqlAnswer', 'Error'].map((name) => component('schemas', name)) },
          },
        },
      },
      ...referencesTo({
        401: 'Unauthorized',
        408: 'RequestTimeout',
        413: 'PayloadTooLarge',
        414: 'UriTooLong',
        415: 'UnsupportedMediaType',
        417: 'ExpectationFailed',
        429: 'TooManyRequests',
        431: 'HeaderFieldsTooLarge',
        500: 'InternalError',
        503: 'ServiceUnavailable',
      }),
    },
  };
}

/** A request about the process itself, which needs no credential of the API. */
function serviceRequest(
  { operationId, summary, description }: Record<'operationId' | 'summary' | 'description', string>,
  responses: OperationObject['responses'],
  security: OperationObject['security'] = [],
): OperationObject {
  const all = { ...responses, ...referencesTo({ 417: 'ExpectationFailed', 431: 'HeaderFieldsTooLarge' }) };
  return { operationId, summary, description, tags: ['Service'], security, 'x-permission': 'public', responses: all };
}

/** Health, readiness and metrics. */
function servicePaths(): Document['paths'] {
  const headers = { 'X-Request-Id': header('X-Request-Id') };
  const json = (description: string, schema: string): ResponseObject => ({
    description,
    headers,
    content: { 'application/json': { schema: component('schemas', schema) } },
  });
  const health = {
    operationId: 'getHealth',
    summary: 'Tell whether the process answers',
    description: 'Looks at nothing else: what restarts a process that hangs asks here.',
  };
  const readiness = {
    operationId: 'getReadiness',
    summary: 'Tell whether the process can serve requests',
    description: 'Looks at the database, its migrations, the job queue, the keys, the repositories and the storage.',
  };
  const metrics = {
    operationId: 'getMetrics',
    summary: 'Read the metrics of the process',
    description:
      'Requires `PORTICO_METRICS_TOKEN` as a bearer token; without that setting, and on other ports than `PORTICO_METRICS_PORT` where it is set, there is no such address.',
  };
  return {
    '/healthz': { get: serviceRequest(health, { 200: json('The process answers', 'Health') }) },
    '/readyz': {
      get: serviceRequest(readiness, {
        200: json('All checks pass', 'Readiness'),
        503: json('The process starts or stops, or a check fails', 'Readiness'),
      }),
    },
    '/metrics': {
      get: serviceRequest(
        metrics,
        {
          200: {
            description: 'Metrics in the text format of Prometheus',
            headers,
            content: { 'text/plain': { schema: text } },
          },
          404: component('responses', 'NotFound'),
        },
        [{ metricsToken: [] }],
      ),
    },
  };
}

const check: JsonSchema = { type: 'string', enum: ['ok', 'failed'] };
const checks = ['database', 'migrations', 'queue', 'keys', 'repositories', 'storage'];
const serviceSchemas: ProtocolParts['schemas'] = {
  Health: { type: 'object', properties: { status: { type: 'string', const: 'ok' } }, required: ['status'] },
  Readiness: {
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['starting', 'ready', 'draining', 'not ready'] },
      roles: { type: 'array', items: text, description: 'What the process does: web, worker or both' },
      checks: {
        type: 'object',
        properties: Object.fromEntries(checks.map((name) => [name, check])),
        required: checks,
      },
    },
    required: ['status', 'roles', 'checks'],
  },
  LfsError: { type: 'object', properties: { message: text }, required: ['message'] },
  GraphqlRequest: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'The document' },
      variables: { type: 'object', additionalProperties: component('schemas', 'JsonValue') },
      operationName: { type: 'string', description: 'Which of several operations of the document' },
    },
    required: ['query'],
  },
  GraphqlAnswer: {
    type: 'object',
    properties: {
      data: { type: ['object', 'null'], additionalProperties: component('schemas', 'JsonValue') },
      errors: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            message: text,
            path: { type: 'array', items: { type: ['string', 'integer'] } },
            extensions: { type: 'object', additionalProperties: component('schemas', 'JsonValue') },
          },
          required: ['message'],
        },
      },
    },
  },
};

/** The webhook of workflows, git's smart HTTP, GraphQL and what is said of the process, which are served beside the table. */
export function protocolParts(): ProtocolParts {
  const repository = '/git/{organization}/{project}.git';
  const methods = Object.keys(webhookMethods) as (keyof typeof webhookMethods)[];
  return {
    tags: [
      { name: 'Webhook', description: 'The address at which outside services start a workflow.' },
      {
        name: 'Git',
        description: "git's smart HTTP protocol: the address is what `git clone`, `fetch` and `push` take.",
      },
      { name: 'GraphQL', description: 'The same operations behind one address.' },
      { name: 'Service', description: 'What is said of the process itself.' },
    ],
    paths: {
      '/webhooks/ai/workflows/{workflow}': Object.fromEntries(methods.map((method) => [method, webhookCall(method)])),
      [`${repository}/info/refs`]: {
        get: gitRequest(null, {
          operationId: 'advertiseRefs',
          summary: 'List the refs of a repository for git',
          description:
            'Needs the permission `browse_studio`; for `git-receive-pack` what a push needs. The first request of `git clone`, `fetch` and `push`.',
          permission: 'browse_studio',
        }),
      },
      [`${repository}/git-upload-pack`]: {
        post: gitRequest('git-upload-pack', {
          operationId: 'uploadPack',
          summary: 'Send objects to git (clone, fetch)',
          description: 'Needs the permission `browse_studio`.',
          permission: 'browse_studio',
        }),
      },
      [`${repository}/git-receive-pack`]: {
        post: gitRequest('git-receive-pack', {
          operationId: 'receivePack',
          summary: 'Receive objects from git (push)',
          description:
            'Needs the permission `edit_studio`, with `delete_studio` for deletions and `manage_studio` for files outside collections and media roots and for forced pushes. A ref that is refused is reported in the answer, with status 200, as git expects.',
          permission: 'edit_studio',
        }),
      },
      [`${repository}/info/lfs/objects/batch`]: { post: lfsRequest() },
      '/graphql': { post: graphqlRequest() },
      ...servicePaths(),
    },
    responses: { ...webhookResponses, ...gitResponses },
    schemas: {
      ...serviceSchemas,
      WebhookAccepted: {
        type: 'object',
        properties: { executionId: { type: 'string', format: 'uuid', description: 'Id of the execution' } },
        required: ['executionId'],
      },
      WebhookError: {
        type: 'object',
        properties: { error: { type: 'string', description: 'What is wrong' } },
        required: ['error'],
      },
    },
    securitySchemes: {
      webhookSecret: {
        type: 'http',
        scheme: 'bearer',
        description: 'The secret of the webhook trigger (`secret` mode)',
      },
      webhookToken: { type: 'apiKey', in: 'query', name: 'token', description: 'The same secret in the URL' },
      webhookSignature: {
        type: 'apiKey',
        in: 'header',
        name: 'X-Hub-Signature-256',
        description:
          '`sha256=` and the HMAC-SHA256 of the body in hexadecimal, keyed with the secret of the trigger (`hmac` mode)',
      },
      metricsToken: { type: 'http', scheme: 'bearer', description: 'PORTICO_METRICS_TOKEN of the server' },
      basic: { type: 'http', scheme: 'basic', description: 'An API token as the password, with any user name' },
    },
  };
}
