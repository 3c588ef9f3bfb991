import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import {
  type DocumentNode,
  type ExecutionResult,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  parse,
  specifiedRules,
  subscribe,
  validate,
} from 'graphql';
import { z } from 'zod';
import { authenticateRequest } from '../../domain/identity/authenticate.ts';
import type { AllServices } from '../../domain/services.ts';
import type { Actor } from '../../kernel/actor.ts';
import { answerMemory, ownerOf } from '../../kernel/answer-memory.ts';
import { DomainError } from '../../kernel/errors.ts';
import { workFor } from '../../lib/concurrency.ts';
import { jsonBytes } from '../../lib/long-output.ts';
import { GraphqlContext } from '../context.ts';
import { deadlineOf } from '../deadline.ts';
import { causeOf, formatError } from '../errors.ts';
import { costOf } from '../limits/cost.ts';
import { documentLimits } from '../limits/document.ts';
import { type AnswerBounds, answerBounds, check, limits, maxErrors } from '../limits/limits.ts';
import { checkVariables } from '../limits/variables.ts';
import { recordUnread } from '../refused-commands.ts';
import type { StreamState } from './stream-state.ts';

/** Milliseconds. */
interface StreamTimes {
  /** Between two comments that keep the connection open. */
  heartbeat: number;
  /** How long a reader may leave an event unread before he is cut off. */
  patience: number;
}

/**
 * The room in memory of an event: it is given back as soon as the connection has taken the event, since a stream stays open for hours. To the memory
 * of answers each event is an answer of its own, which is closed with its stream at the latest.
 */
class EventRoom extends EventEmitter<{ close: [] }> {
  readonly #response: ServerResponse;
  /** What the event may hold, as any answer. */
  readonly bounds: AnswerBounds;
  #isTaken = false;

  constructor(response: ServerResponse, caller: string) {
    super();
    this.#response = response;
    this.bounds = answerBounds({
      take: (bytes) => answerMemory.take(caller, bytes, this),
      count: (bytes) => answerMemory.add(caller, bytes, this),
    });
    // The fields of an event may wait for room at the same time.
    this.setMaxListeners(0);
  }

  get closed(): boolean {
    return this.#isTaken || this.#response.closed;
  }

  get writableEnded(): boolean {
    return this.#response.writableEnded;
  }

  get writableNeedDrain(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** Gives back what is held. */
  end(): void {
    this.#isTaken = true;
    this.emit('close');
  }

  /** The stream cuts off a reader without patience of its own. */
  setTimeout(): void {}

  destroy(): void {
    this.#response.destroy();
  }
}

/**
 * Writes server-sent events as the protocol of GraphQL over SSE names them (its distinct connections mode): `next` for each result, `complete`
 * when none follows.
 */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #patience: number;
  readonly #heart: NodeJS.Timeout;
  readonly #caller: string;
  #room: EventRoom;

  /** @param caller who takes room for the events */
  constructor(response: ServerResponse, caller: string, { heartbeat, patience }: StreamTimes) {
    this.#response = response;
    this.#patience = patience;
    this.#caller = caller;
    this.#room = new EventRoom(response, caller);
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'private, no-store, no-transform',
      // Proxies that gather answers would hold events back.
      'X-Accel-Buffering': 'no',
    });
    response.write(':\n\n');
    this.#heart = setInterval(() => {
      if (!response.writableNeedDrain) response.write(':\n\n');
    }, heartbeat);
    response.once('close', () => {
      clearInterval(this.#heart);
      this.#room.end();
    });
  }

  /** Waits for memory for so many bytes that the next event answers with. */
  readonly room = (bytes: number): Promise<void> => this.#room.bounds.room(bytes);

  /** Begins the next event anew, and gives back what was taken for it: what was read has led to none. */
  begin(): void {
    this.#room.end();
    this.#room = new EventRoom(this.#response, this.#caller);
  }

  /**
   * Writes one result, and waits until the reader has taken it. A reader that does not is cut off.
   * @throws DomainError `too_large`, `unavailable` where there is no room for it: nothing is written
   */
  async next(result: FormattedExecutionResult, id: string | null): Promise<void> {
    try {
      const head = `${id === null ? '' : `id: ${id}\n`}event: next\ndata: `;
      const event = Buffer.concat([
        Buffer.from(head),
        await jsonBytes(result, this.#room.bounds.watch),
        Buffer.from('\n\n'),
      ]);
      if (this.#response.destroyed || this.#response.write(event)) return;
      await this.#taken();
    } finally {
      this.begin();
    }
  }

  async #taken(): Promise<void> {
    const over = new AbortController();
    const options = { signal: AbortSignal.any([over.signal, AbortSignal.timeout(this.#patience)]) };
    try {
      await Promise.race([once(this.#response, 'drain', options), once(this.#response, 'close', options)]);
    } catch {
      this.#response.destroy();
    } finally {
      over.abort();
    }
  }

  complete(): void {
    this.#end('event: complete\ndata: \n\n');
  }

  /** Ends without a `complete` event, so that the client reconnects. */
  interrupt(): void {
    this.#end(': to be continued\n\n');
  }

  #end(last: string): void {
    clearInterval(this.#heart);
    if (!this.#response.destroyed) this.#response.end(last);
  }
}

const request = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});

/** A subscription that may run. */
interface Prepared {
  document: DocumentNode;
  variableValues: Record<string, unknown>;
  operationName: string | null;
}

/**
 * Parses and validates a request under the limits every document has.
 * @throws Error or an array of GraphQLErrors, as a client should see them
 */
function prepare(schema: GraphQLSchema, body: unknown): Prepared {
  const parsed = request.safeParse(body);
  if (!parsed.success) throw badRequest('body: must be an object with a query, and variables as an object');
  const { query, operationName = null } = parsed.data;
  const variableValues = parsed.data.variables ?? {};
  const document = parse(query, { maxTokens: limits.tokens });
  const errors = validate(schema, document, [...specifiedRules, documentLimits], { maxErrors });
  if (errors.length > 0) throw new AggregateError(errors);
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== 'subscription') {
    throw badRequest(
      'Only subscriptions are streamed; send queries and mutations with the header Accept: application/json',
    );
  }
  checkVariables(schema, operation, variableValues);
  const { errors: faults = [] } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues);
  if (faults.length > 0) throw new AggregateError(faults.map(({ message }) => badRequest(message)));
  check('cost', costOf(schema, document, operation, variableValues));
  return { document, variableValues, operationName };
}

const badRequest = (message: string) => new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });

/** Streams one credential may hold open in a process. */
const mostStreams = 20;

/** Milliseconds. */
export const streamTimes = { heartbeat: 15_000, patience: 30_000, poll: 2_000 };
export type Times = StreamTimes & { poll: number };

/** Whether a request wants a stream: GraphQL over SSE, distinct connections mode. Clients that take JSON as well get JSON. */
export const asksForStream = ({ method, headers: { accept = '' } }: Request): boolean =>
  method === 'POST' && /\btext\/event-stream\b/i.test(accept) && !/\bjson\b/i.test(accept);

interface Call {
  request: Request;
  response: Response;
  actor: Actor | null;
  request_id: string;
}

/** Whether an error is over soon, such as missing room for an answer: the client reconnects, and goes on from its position. */
function isPassing(error: unknown): boolean {
  const cause = causeOf(error);
  return cause instanceof DomainError && cause.code === 'unavailable';
}

const isResult = (value: AsyncIterable<ExecutionResult> | ExecutionResult): value is ExecutionResult =>
  !(Symbol.asyncIterator in value);

/** Answers subscriptions with a stream of events. */
export class Streams {
  readonly #services: AllServices;
  readonly #schema: GraphQLSchema;
  readonly #times: Times;
  readonly #open = new Map<string, number>();

  constructor(services: AllServices, schema: GraphQLSchema, times: Times) {
    this.#services = services;
    this.#schema = schema;
    this.#times = times;
  }

  /** @throws DomainError before the stream is open: `unauthenticated`, `unsupported_media`, `rate_limited`, `unavailable` */
  async answer({ request, response, actor, request_id }: Call): Promise<void> {
    if (!actor) throw new DomainError('unauthenticated', 'Unauthenticated');
    // A form of another site cannot send it (the CSRF rule of plain requests).
    if (!request.is('application/json'))
      throw new DomainError('unsupported_media', 'body: must be JSON, sent as application/json');
    const { closing } = this.#services.events;
    if (closing.aborted) throw new DomainError('unavailable', 'The server is stopping');
    const done = this.#enter(actor.id);
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
      done();
    });
    const writer = new EventWriter(response, ownerOf(actor, request), this.#times);
    const stream: StreamState = {
      after: request.get('Last-Event-ID') ?? null,
      signal: AbortSignal.any([gone.signal, closing]),
      renew: () => {
        writer.begin();
        return authenticateRequest(this.#services, { headers: request.headers, isSafe: false });
      },
      pollEvery: this.#times.poll,
      position: null,
      refetch: false,
    };
    const services = this.#services;
    const { room } = writer;
    const address = request.ip ?? null;
    const caller = { services, actor, request_id, address, deadline: deadlineOf(response), room, stream };
    const failed = (error: unknown) => ({ errors: this.#format(error, request_id) });
    const context = new GraphqlContext(caller);
    try {
      const prepared = prepare(this.#schema, request.body);
      await workFor(actor.id, () => this.#run(prepared, context, writer, failed));
    } catch (error) {
      if (isPassing(error)) return writer.interrupt();
      await recordUnread(this.#schema, context, request.body);
      await writer.next(failed(error), null);
    }
    if (closing.aborted) writer.interrupt();
    else writer.complete();
  }

  async #run(
    prepared: Prepared,
    context: GraphqlContext,
    writer: EventWriter,
    failed: (error: unknown) => { errors: GraphQLFormattedError[] },
  ): Promise<void> {
    const results = await subscribe({ schema: this.#schema, contextValue: context, ...prepared });
    if (isResult(results)) return writer.next(failed(new AggregateError(results.errors ?? [])), null);
    for await (const { data, errors } of results) {
      const { position, refetch } = context.stream;
      const passing = errors?.find(isPassing);
      if (passing) throw passing;
      const shown = { data: data ?? null, ...(errors && failed(new AggregateError(errors))) };
      await writer.next({ ...shown, ...(refetch && { extensions: { refetch } }) }, position);
    }
  }

  /** Counts a stream of a caller. @returns how to count it off */
  #enter(caller: string): () => void {
    const open = this.#open.get(caller) ?? 0;
    if (open >= mostStreams) {
      throw new DomainError('rate_limited', `${mostStreams} streams are open already; close one of them first`);
    }
    this.#open.set(caller, open + 1);
    return () => {
      const left = (this.#open.get(caller) ?? 1) - 1;
      if (left === 0) this.#open.delete(caller);
      else this.#open.set(caller, left);
    };
  }

  #format(error: unknown, request_id: string): GraphQLFormattedError[] {
    const audience = { request_id, anonymous: false, log: this.#services.log };
    const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    return all.map((each) => {
      const shown = each instanceof GraphQLError ? each : new GraphQLError('', { originalError: each as Error });
      return formatError(codedError(shown), each, audience);
    });
  }
}

/** A fault of the document, by the word Apollo has for it. */
function codedError(error: GraphQLError): GraphQLFormattedError {
  const formatted = error.toJSON();
  if (formatted.extensions?.code !== undefined || error.originalError !== undefined || error.path) return formatted;
  const code = error.message.startsWith('Syntax Error') ? 'GRAPHQL_PARSE_FAILED' : 'GRAPHQL_VALIDATION_FAILED';
  return { ...formatted, extensions: { code } };
}
