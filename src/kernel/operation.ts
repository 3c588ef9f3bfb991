import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { isRecord } from '../lib/objects.ts';
import type { Repository } from '../ports/git.ts';
import type { GitServeRequest } from '../ports/git-transfer.ts';
import type { Log } from '../ports/log.ts';
import type { Spooled } from '../ports/spool.ts';
import type { Actor, Grant, Permission, Requirement } from './actor.ts';
import type { AuditSubject, OrganizationRef, Place, ProjectRef, Services } from './services.ts';

/** Preconditions a caller sets, whatever the protocol (RFC 9110 13.1; draft Idempotency-Key). */
export interface Conditions {
  if_match?: string;
  if_none_match?: string;
  idempotency_key?: string;
}

/** A file that came beside the input; its content is there until the call is over. */
export interface IncomingFile {
  name: string;
  content: Spooled;
}

/** A body whose sender proves who it is by a signature over its bytes; null when it has none. */
export interface SignedBody {
  body: Uint8Array;
  signature: string | null;
}

/** What a request says of the program it comes from. */
export interface BrowserRequest {
  /** `User-Agent`, null without one. */
  user_agent: string | null;
  /** It comes from a page of this service: no other site's page can have made the browser send it (Fetch Metadata; RFC 6454). */
  same_origin: boolean;
}

/**
 * What a protocol brings to `run()`: who calls, under which conditions, and how to stop.
 * @typeParam Runtimes runtimes of features beside the services, by name
 */
export interface Call<Runtimes extends object = object> {
  services: Services & Runtimes;
  actor: Actor | null;
  conditions: Conditions;
  signal: AbortSignal;
  request_id: string;
  /** Address of the client, for the audit log; null for jobs. */
  address: string | null;
  /** Opens the repository of a project, by its UUID, where calls of one request share what they read of it; default: `services.git.open`. */
  open?: (uuid: string) => Repository;
  /** Absent for jobs, and for protocols that no browser speaks. */
  browser?: BrowserRequest;
  /** Opens the two ends of a git client's request, once it is known to be allowed. */
  pack?: () => Pick<GitServeRequest, 'protocol' | 'input' | 'output'>;
  /** Files that came beside the input (a multipart body), in the order they came. */
  uploads?: readonly IncomingFile[];
  /** The body as it came, and what it was signed with. */
  signed?: SignedBody;
  /** Nothing of the input may be ignored: a field without effect refuses the call. */
  strict?: boolean;
  /** Takes memory for an answer of so many bytes until the client has read it; absent where answers are small. */
  room?(bytes: number): Promise<void>;
  /** Progress callback of a long operation, in words for a person who waits. */
  onPhase?: (phase: string) => void;
  /** Called with the output of a database command within its transaction, to store both together. */
  inTransaction?(em: EntityManager, output: unknown): Promise<void>;
  /** What the operation passes to its protocol beside the output. */
  facts: {
    etag?: string;
    replayed?: boolean;
    bytes?: Buffer;
    stream?: AsyncIterable<Uint8Array>;
    /** Holds the call against the rights of now, while its answer is sent. @throws DomainError as `run()` does */
    renewed?(): Promise<unknown>;
    ignored?: string[];
    /** Text of the session the browser has from now on; null: none. */
    session?: string | null;
  };
}

interface Shared<Also extends Permission> {
  services: Services;
  /** A fork for this call; inside the transaction for commands whose effect is the database. */
  em: EntityManager;
  conditions: Conditions;
  signal: AbortSignal;
  /** Address of the client; null for jobs. */
  address: string | null;
  browser?: BrowserRequest;
  /** Signs the browser in with the text of a session, or out with null. */
  setSession(text: string | null): void;
  uploads?: readonly IncomingFile[];
  signed?: SignedBody;
  pack?: Call['pack'];
  onPhase(phase: string): void;
  log: Log;
  /**
   * The same context by the rights and settings that hold now, for a command that decides only when what the caller sends has come.
   * @param within the transaction that the command is in: to wait there for another connection can take all of them
   * @throws DomainError as `run()` does, for a caller whose rights have ended, and for a place that is gone
   */
  renewed(within?: EntityManager): Promise<this>;
  /** Asks for a further permission this input needs; it must be declared in `also`. */
  require(permission: Also): void;
  /** Hands the protocol a file's bytes, to be sent as they are in place of the output. */
  attach(bytes: Buffer): void;
  /**
   * Waits for memory for so many bytes that a query answers with. A command waits for none: it would be undone for what is only shown, or hold others
   * up within its transaction.
   * @throws DomainError `unavailable`
   */
  room(bytes: number): Promise<void>;
  /** The same for what is made while it is sent, and need not fit into memory. */
  attachStream(content: AsyncIterable<Uint8Array>): void;
  /** Tells the caller of a field that was understood and has no effect. */
  ignore(field: string): void;
  /** Names the version of the answer. A caller who already holds it gets `NotModified` instead. */
  tag(etag: string): void;
}

export interface PublicContext<Also extends Permission = never> extends Shared<Also> {
  actor: Actor | null;
}
export interface OrganizationContext<Also extends Permission = never> extends Shared<Also> {
  actor: Actor;
  grant: Grant;
  organization: OrganizationRef;
}
export interface ProjectContext<Also extends Permission = never> extends OrganizationContext<Also> {
  project: ProjectRef;
  git: Repository;
}

/** Thrown by `tag()` when the caller's If-None-Match names the current version (RFC 9110 13.1.2). */
export class NotModified extends Error {
  override name = 'NotModified';
}

/** Machine names of where a command acts; empty where it acts on no organisation or project. */
export interface AuditPlace {
  organization: string;
  project: string;
}

/**
 * What a grant that is confined to projects may do with an operation of the organisation. `refused`: the operation is about the organisation
 * as a whole. `own_projects`: it answers with, and changes, nothing beyond the organisation's record and what belongs to those projects alone.
 */
export type Confined = 'refused' | 'own_projects';

interface Common<In extends z.ZodObject, Out extends z.ZodType, Also extends Permission> {
  /** `part.verbNoun`. */
  name: string;
  permission: Requirement;
  /** Further permissions an input may need, each with when. */
  also?: Record<Also, string>;
  summary: string;
  input: In;
  output: Out;
  /** Of operations of an organisation alone; `run()` refuses where it is missing. */
  confined?: Confined;
  /**
   * Reads the caller's grant from the database, not the cache: for commands that hand out power. `in_turn`: a command of the database that gives or
   * takes rights; it runs alone in its organisation, by the rights the caller has then.
   */
  freshGrant?: boolean | 'in_turn';
  /** An attempt to get a credential: refusals of callers who have none leave audit rows too. */
  auditsAttempts?: boolean;
  /** Beside the permission it wants a person who is signed in: no token, workflow or command line has what it is about. */
  forPersons?: boolean;
  /** Of a person it wants that they signed in or confirmed their password in the last ten minutes: `reauthentication_required`. */
  recentProof?: boolean;
  /** What it takes away cannot be brought back by the same means: GraphQL keeps no idempotency key for it. */
  irreversible?: boolean;
  /** A command that names the version of the record it answers with, as `ETag`. */
  givesTag?: boolean;
  /** Compares `If-Match` with the stored version: `precondition_failed` when it is stale. */
  comparesTag?: boolean;
  /** A project can require that calls name the stored version: `precondition_required` when they do not. */
  mayRequireTag?: boolean;
  /** A query that may be refused by the present state, as commands may. */
  mayConflict?: boolean;
  /** A query whose answer is good for one use: GraphQL runs it for each field, however often a document repeats it. */
  singleUse?: boolean;
  /** Members of the output that are secrets: only who calls the operation itself gets them, a tool or a step of a workflow has null. */
  shownOnce?: readonly string[];
  /** Reads its input itself, since its rules depend on what is stored: `execute` gets the input as it came. */
  rawInput?: boolean;
  /** Steps of workflows cannot call it: it hands out power or secrets, changes workflows, takes files, or serves one protocol alone. */
  notInSteps?: boolean;
}

type Kind<In extends z.ZodObject, Out extends z.ZodType> =
  | { kind: 'query' }
  | {
      kind: 'command';
      /** `database` (default): one transaction around all. `external`: a commit or upload, so no long transaction. */
      effect?: 'database' | 'external';
      /**
       * Names the subject; of a refused command the input may lack what its schema requires. A list has a row for each, and none when it is
       * empty.
       */
      audit(input: z.output<In>, output: z.output<Out> | null, place: AuditPlace): AuditSubject | AuditSubject[];
      /** The outcome in metrics and log of a call that ran without the requested effect; default `ok`. */
      outcome?(output: z.output<Out>): 'ok' | 'refused' | 'failed';
    };

interface Scopes<Also extends Permission> {
  public: PublicContext<Also>;
  organization: OrganizationContext<Also>;
  project: ProjectContext<Also>;
}
export type Scope = keyof Scopes<never>;

/**
 * What a feature wants around its operations, declared where they are made: `projectOperation.with(mirror)`.
 * @typeParam S scope of the operations
 * @typeParam Runtimes what it needs of the process, by name
 * @typeParam Adds what it adds to their contexts
 */
export interface Extension<S extends Scope, Runtimes extends object = object, Adds extends object = object> {
  /** Makes what each context has besides; `place` is where the call acts. */
  provide?(services: Services & Runtimes, place: Place): Adds;
  /**
   * Runs around the transaction. It may put another `git` into the context, and answer with more than `execute()` does. A command of the
   * database has a context of its own inside its transaction.
   */
  around?(operation: AnyOperation, context: Scopes<never>[S] & Adds, execute: () => Promise<unknown>): Promise<unknown>;
  /** Follows the transaction of a command of the database; `context.em` was its manager. */
  afterCommit?(context: Scopes<never>[S] & Adds, output: unknown): void;
}

export type Operation<
  S extends Scope = Scope,
  In extends z.ZodObject = z.ZodObject,
  Out extends z.ZodType = z.ZodType,
  Also extends Permission = Permission,
  Runtimes extends object = object,
  Adds extends object = object,
> = Common<In, Out, Also> &
  Kind<In, Out> & {
    scope: S;
    /** The outermost first. */
    extensions: readonly Extension<S, Runtimes>[];
    execute(context: Scopes<Also>[S] & Adds, input: z.output<In>): Promise<z.output<Out>>;
    /**
     * Of a command of the database: does before its transaction what can take long, so that the wait for it holds no connection of the pool. What it
     * has read can have changed when `execute` runs.
     */
    prepare?(context: Scopes<Also>[S] & Adds, input: z.output<In>): Promise<void>;
    /**
     * Refuses a call by what is known of it before a file beside its input is read: the fields that came before the file, and its name. A field
     * that is not there may still come.
     */
    admit?(context: Scopes<Also>[S] & Adds, known: Partial<z.output<In>>, file: string): Promise<void>;
    /**
     * Looks up what an input names before the input is refused: what is unknown comes before what is wrong with the rest.
     * @param given the input as it came
     * @throws DomainError `not_found`
     */
    find?(context: Scopes<never>[S] & Adds, given: Record<string, unknown>): Promise<unknown>;
  };

type Declaration<
  S extends Scope,
  In extends z.ZodObject,
  Out extends z.ZodType,
  Also extends Permission,
  Adds extends object,
> = Omit<Operation<S, In, Out, Also, object, Adds>, 'scope' | 'extensions' | 'kind' | 'audit' | 'effect'> &
  Kind<In, Out>;

/** Makes operations of one scope and with the same extensions. */
interface OperationMaker<S extends Scope, Must, Runtimes extends object = object, Adds extends object = object> {
  <In extends z.ZodObject, Out extends z.ZodType, Also extends Permission = never>(
    declaration: Declaration<S, In, Out, Also, Adds> & Must,
  ): Operation<S, In, Out, Also, Runtimes, Adds>;
  /** The same with one extension more, inside of those before. */
  with<MoreRuntimes extends object, More extends object>(
    extension: Extension<S, MoreRuntimes, More>,
  ): OperationMaker<S, Must, Runtimes & MoreRuntimes, Adds & More>;
}

function makerOf<S extends Scope, Must = unknown>(scope: S, extensions: readonly Extension<S>[] = []) {
  const make = (declaration: object) => ({ scope, extensions, ...declaration });
  const more = (extension: Extension<S>) => makerOf<S, Must>(scope, [...extensions, extension]);
  return Object.assign(make, { with: more }) as unknown as OperationMaker<S, Must>;
}

/** An operation of the service as a whole: no organisation is resolved. */
export const publicOperation = makerOf('public');
/**
 * An operation of one organisation; its input carries `organization`, resolved before it runs. Each says what it is for a grant that is
 * confined to projects.
 */
export const organizationOperation = makerOf<'organization', { confined: Confined }>('organization');
/** An operation of one project; its input carries `organization` and `project`, resolved before it runs. */
export const projectOperation = makerOf('project');

/** Any operation, for tables that hold many. */
// biome-ignore lint/suspicious/noExplicitAny: a table of operations has no common input; `run` checks each against its own schema
export type AnyOperation = Operation<any, any, any, any, any, any>;

/** An answer for what is kept or read by others than the caller: without what is shown to the caller alone. */
export function withoutSecrets({ shownOnce = [] }: Pick<AnyOperation, 'shownOnce'>, output: unknown): unknown {
  if (shownOnce.length === 0 || !isRecord(output)) return output;
  return { ...output, ...Object.fromEntries(shownOnce.map((name) => [name, null])) };
}
