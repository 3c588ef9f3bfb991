import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { Actor, Grant } from './identity/actor.ts';
import type { OrganizationRef } from './organizations/organization.entity.ts';
import type { Permission, Requirement } from './permissions.ts';
import type { Repository } from './ports/git.ts';
import type { GitServeRequest } from './ports/git-transfer.ts';
import type { Log } from './ports/log.ts';
import type { ProjectRef } from './projects/project.entity.ts';
import type { Services } from './services.ts';

/** Preconditions a caller sets, whatever the protocol (RFC 9110 13.1; draft Idempotency-Key). */
export interface Conditions {
  if_match?: string;
  if_none_match?: string;
  idempotency_key?: string;
}

/** A file on its way in, as a stream; the next one comes when this one has been read. */
export interface IncomingFile {
  name: string;
  content: AsyncIterable<Uint8Array>;
}

/** A body whose sender proves who it is by a signature over its bytes; null when it has none. */
export interface SignedBody {
  body: Uint8Array;
  signature: string | null;
}

/** What a protocol brings to `run()`: who calls, under which conditions, and how to stop. */
export interface Call {
  services: Services;
  actor: Actor | null;
  conditions: Conditions;
  signal: AbortSignal;
  request_id: string;
  /** Address of the client, for the audit log; null for jobs. */
  address: string | null;
  /** Opens the two ends of a git client's request, once it is known to be allowed. */
  pack?: () => Pick<GitServeRequest, 'protocol' | 'input' | 'output'>;
  /** Files that came beside the input (a multipart body). */
  uploads?: AsyncIterable<IncomingFile>;
  /** The body as it came, and what it was signed with. */
  signed?: SignedBody;
  /** Told what a long operation is at, in words for a person who waits. */
  onPhase?: (phase: string) => void;
  /** Told of the output of a command of the database within its transaction, to keep it with what it has done. */
  inTransaction?(em: EntityManager, output: unknown): Promise<void>;
  /** What the operation tells its protocol beside the output. */
  facts: { etag?: string; replayed?: boolean; bytes?: Buffer; stream?: AsyncIterable<Uint8Array>; ignored?: string[] };
}

interface Shared<Also extends Permission> {
  services: Services;
  /** A fork for this call; inside the transaction for commands whose effect is the database. */
  em: EntityManager;
  conditions: Conditions;
  signal: AbortSignal;
  uploads?: AsyncIterable<IncomingFile>;
  signed?: SignedBody;
  pack?: Call['pack'];
  onPhase(phase: string): void;
  log: Log;
  /** Asks for a further permission this input needs; it must be declared in `also`. */
  require(permission: Also): void;
  /** Hands the protocol a file's bytes, to be sent as they are in place of the output. */
  attach(bytes: Buffer): void;
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

/** What an audit row says of a command: the kind and id of its subject. */
export interface AuditSubject {
  type: string;
  id: string | null;
}

/** Machine names of where a command acts; empty where it acts on no organisation or project. */
export interface AuditPlace {
  organization: string;
  project: string;
}

interface Common<In extends z.ZodObject, Out extends z.ZodType, Also extends Permission> {
  /** `part.verbNoun`. */
  name: string;
  permission: Requirement;
  /** Further permissions an input may need, each with when. */
  also?: Record<Also, string>;
  summary: string;
  input: In;
  output: Out;
  /** Reads the caller's grant from the database, not the cache: for commands that hand out power. */
  fresh?: boolean;
  /** What it takes away cannot be brought back by the same means: GraphQL keeps no idempotency key for it. */
  destructive?: boolean;
  /** A query that may be refused by the present state, as commands may. */
  conflicts?: true;
  /** Reads its input itself, since its rules depend on what is stored: `execute` gets the input as it came. */
  reads_input?: true;
  /** Steps of workflows cannot call it: it hands out power or secrets, or changes workflows themselves. */
  workflow?: false;
  /** Works with what is here: a mirror does not look at its upstream first, nor push afterwards. */
  local?: boolean;
}

type Kind<In extends z.ZodObject, Out extends z.ZodType> =
  | { kind: 'query' }
  | {
      kind: 'command';
      /** `database` (default): one transaction around all. `external`: a commit or upload, so no long transaction. */
      effect?: 'database' | 'external';
      /** Names the subject; of a refused command the input may lack what its schema requires. */
      audit(input: z.output<In>, output: z.output<Out> | null, place: AuditPlace): AuditSubject;
    };

type Scopes<Also extends Permission> = {
  public: PublicContext<Also>;
  organization: OrganizationContext<Also>;
  project: ProjectContext<Also>;
};
export type Scope = keyof Scopes<never>;

export type Operation<
  S extends Scope = Scope,
  In extends z.ZodObject = z.ZodObject,
  Out extends z.ZodType = z.ZodType,
  Also extends Permission = Permission,
> = Common<In, Out, Also> &
  Kind<In, Out> & {
    scope: S;
    execute(context: Scopes<Also>[S], input: z.output<In>): Promise<z.output<Out>>;
  };

type Declaration<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission> = Omit<
  Operation<S, In, Out, Also>,
  'scope' | 'kind' | 'audit' | 'effect'
> &
  Kind<In, Out>;

const operationOf =
  <S extends Scope>(scope: S) =>
  <In extends z.ZodObject, Out extends z.ZodType, Also extends Permission = never>(
    declaration: Declaration<S, In, Out, Also>,
  ): Operation<S, In, Out, Also> =>
    ({ scope, ...declaration }) as Operation<S, In, Out, Also>;

/** An operation of the service as a whole: no organisation is resolved. */
export const publicOperation = operationOf('public');
/** An operation of one organisation; its input carries `organization`, resolved before it runs. */
export const organizationOperation = operationOf('organization');
/** An operation of one project; its input carries `organization` and `project`, resolved before it runs. */
export const projectOperation = operationOf('project');

/** Any operation, for tables that hold many. */
// biome-ignore lint/suspicious/noExplicitAny: a table of operations has no common input; `run` checks each against its own schema
export type AnyOperation = Operation<any, any, any, any>;
