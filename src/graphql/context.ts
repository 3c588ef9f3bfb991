import DataLoader from 'dataloader';
import type { z } from 'zod';
import type { Replies } from '../domain/assistant/replies/replies.ts';
import type { AllServices } from '../domain/services.ts';
import type { StudioRuntime } from '../domain/studio/studio.ts';
import type { Actor, Permission } from '../kernel/actor.ts';
import { DomainError } from '../kernel/errors.ts';
import type { AnyOperation, BrowserRequest, Call, Conditions, Operation, Scope } from '../kernel/operation.ts';
import { maxPerPage, type Page } from '../kernel/paging.ts';
import { recordRefusal, run } from '../kernel/run.ts';
import { isRecord, replacing, stableJson } from '../lib/objects.ts';
import type { Repository } from '../ports/git.ts';
import { type Connection, connectionFrom, type ListArguments, pageSize } from './connection.ts';
import type { Deadline } from './deadline.ts';
import type { StreamState } from './stream/stream-state.ts';
import { type AnySchema, definitionOf, shapeOf, unwrap } from './types/zod-schema.ts';

/**
 * Removes the fields a client left empty by null: GraphQL lets it do so for every optional field, an operation only for those where null means
 * something. Free values are left as they are.
 */
export function withoutNulls(schema: AnySchema, input: Record<string, unknown>): Record<string, unknown> {
  return clean(schema, input) as Record<string, unknown>;
}

function clean(outer: AnySchema, value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  const { schema } = unwrap(outer, true);
  const shape = shapeOf(schema);
  if (shape && isRecord(value)) {
    const kept: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(value)) {
      const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
      if (item === undefined || (item === null && !(field && unwrap(field, true).takesNull))) continue;
      kept[name] = field ? clean(field, item) : item;
    }
    return kept;
  }
  const { element } = definitionOf(schema);
  return element && Array.isArray(value) ? value.map((item) => clean(element, item)) : value;
}

/** A repository of which each branch is read once, so that all that one request reads of it is of the same commit. */
function pinned(repository: Repository): Repository {
  const read = new Map<string, Promise<unknown>>();
  const once = <T>(key: string, load: () => Promise<T>): Promise<T> => {
    const known = read.get(key) as Promise<T> | undefined;
    if (known) return known;
    const loading = load();
    read.set(key, loading);
    return loading;
  };
  return replacing(repository, {
    defaultBranch: () => once('HEAD', () => repository.defaultBranch()),
    head: (branch) => once(`refs/heads/${branch}`, () => repository.head(branch)),
    snapshot: (commit) => once(`${commit}`, () => repository.snapshot(commit)),
  });
}

/** REST honours the key for bodies up to this size; so does GraphQL. */
const maxRepeatableInput = 1024 * 1024;

interface Caller {
  services: AllServices;
  actor: Actor | null;
  request_id: string;
  address: string | null;
  browser?: BrowserRequest;
  deadline: Deadline;
  room?: NonNullable<Call['room']>;
  /** Of a subscription: the stream its events go to. */
  stream?: StreamState;
}

type AnyInput = Record<string, unknown>;
type AnyPage = z.ZodType<unknown, Page<unknown>>;

/** Shared by all resolvers of one request: the caller, and the results so far. */
export class GraphqlContext {
  // Not `#private`: Apollo makes a shallow copy of the context for each request.
  private caller: Caller;
  private readonly answers = new Map<string, Promise<unknown>>();
  private readonly loaders = new Map<string, DataLoader<unknown, unknown>>();
  private readonly repositories = new Map<string, Repository>();
  /** Fields of commands that were understood and had no effect. */
  readonly ignored: string[] = [];
  /** What commands want of the answer's headers. */
  readonly answer: Pick<Call['facts'], 'session'> = {};

  constructor(caller: Caller) {
    this.caller = caller;
  }

  get actor(): Actor | null {
    return this.caller.actor;
  }

  /** @throws DomainError `invalid_request` where there is no stream to answer on */
  get stream(): StreamState {
    const { stream } = this.caller;
    if (!stream) throw new DomainError('invalid_request', 'Subscriptions need the header Accept: text/event-stream');
    return stream;
  }

  /** Only signals that there may be news; the news itself is read. */
  get live(): Pick<AllServices, 'events'> & Pick<StudioRuntime, 'feed' | 'changes'> & Pick<Replies, 'texts'> {
    const { events, studio, assistant } = this.caller.services;
    return { events, feed: studio.feed, changes: studio.changes, texts: assistant.replies.texts };
  }

  /** Authenticates again and clears the cache: each event of a stream is answered with the state of that moment. */
  async renew(): Promise<void> {
    this.caller = { ...this.caller, actor: await this.stream.renew() };
    this.forget();
  }

  get deadline(): Deadline {
    return this.caller.deadline;
  }

  /**
   * Runs an operation for this caller. A query runs once for the same input, however many fields of the document need it, unless each answer is
   * good for one use; a command runs each time, and reads after it see what it did.
   * @param input place and arguments in one; `if_match` and `idempotency_key` of a command become its conditions.
   */
  run<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
    operation: Operation<S, In, Out, Also>,
    input: AnyInput,
  ): Promise<z.input<Out>> {
    if (operation.kind === 'command') return this.command(operation, input);
    const wanted = withoutNulls(operation.input, input);
    if (operation.singleUse) return this.call(operation, wanted, {});
    const key = `${operation.name} ${stableJson(wanted)}`;
    const known = this.answers.get(key);
    if (known) return known as Promise<z.input<Out>>;
    const answer = this.call(operation, wanted, {});
    this.answers.set(key, answer);
    return answer;
  }

  /** Runs a list operation and gives its page as a connection. */
  async list<S extends Scope, In extends z.ZodObject, Out extends AnyPage, Also extends Permission>(
    operation: Operation<S, In, Out, Also>,
    { first, after, ...input }: AnyInput & ListArguments,
  ): Promise<Connection<z.input<Out>['items'][number]>> {
    return connectionFrom(await this.run(operation, { ...input, per_page: pageSize(first), after }));
  }

  /** The request's loader by a name, so that what the items of a list lead to is fetched together: one batch, one operation. */
  loader<K, V>(kind: string, load: (keys: readonly K[]) => Promise<readonly V[]>): DataLoader<K, V> {
    const known = this.loaders.get(kind);
    if (known) return known as DataLoader<K, V>;
    const made = new DataLoader<K, V>(load, { maxBatchSize: maxPerPage });
    this.loaders.set(kind, made);
    return made;
  }

  private async command<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
    operation: Operation<S, In, Out, Also>,
    { if_match, idempotency_key, ...input }: AnyInput,
  ): Promise<z.input<Out>> {
    const wanted = withoutNulls(operation.input, input);
    const isSmall = () => JSON.stringify(wanted).length <= maxRepeatableInput;
    const conditions: Conditions = {
      ...(typeof if_match === 'string' && { if_match }),
      ...(typeof idempotency_key === 'string' && isSmall() && { idempotency_key }),
    };
    // The time of the request was up while those before it ran.
    if (this.deadline.signal.aborted) await this.refuse(operation, wanted);
    try {
      return await this.call(operation, wanted, conditions);
    } finally {
      this.forget();
    }
  }

  private forget(): void {
    this.answers.clear();
    this.loaders.clear();
    this.repositories.clear();
  }

  private call<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
    operation: Operation<S, In, Out, Also>,
    input: AnyInput,
    conditions: Conditions,
  ): Promise<z.input<Out>> {
    const call = this.callUnder(conditions);
    // A command meets the repository as it is.
    if (operation.kind === 'query') call.open = this.open;
    return this.deadline.race(async () => {
      const output = await run(operation, call, input);
      this.ignored.push(...(call.facts.ignored ?? []));
      if (call.facts.session !== undefined) this.answer.session = call.facts.session;
      return output;
    });
  }

  private callUnder(conditions: Conditions): Call<AllServices> {
    const { deadline, stream: _stream, ...caller } = this.caller;
    return { ...caller, conditions, signal: deadline.signal, facts: {} };
  }

  private readonly open = (uuid: string): Repository => {
    const known = this.repositories.get(uuid);
    if (known) return known;
    const opened = pinned(this.caller.services.git.open(uuid));
    this.repositories.set(uuid, opened);
    return opened;
  };

  /** Writes the audit row of a command that is refused before it can run. `input` is what is known of it. */
  refuse(operation: AnyOperation, input: AnyInput): Promise<void> {
    const error = new DomainError('invalid_request', 'The request was refused before the command could run');
    return recordRefusal(operation, this.callUnder({}), input, error);
  }

  /** For fields that lead on to operations and run none themselves. @throws DomainError `unauthenticated` */
  requireActor(): void {
    if (!this.actor) throw new DomainError('unauthenticated', 'Unauthenticated');
  }
}
