import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { workFor, yieldLoop } from '../lib/concurrency.ts';
import { encodeOutput } from '../lib/long-output.ts';
import { type Actor, type Permission, requirePermission } from './actor.ts';
import { auditEntries, auditRefusal } from './audit.ts';
import { DomainError, type ErrorCode, fieldError } from './errors.ts';
import { type AnyOperation, type Call, type Conditions, NotModified, type Operation, type Scope } from './operation.ts';
import { checkInput, parseChecked, parseInput } from './parse.ts';
import type { Fork, IdempotencyClaim, Place } from './services.ts';
import { withCleared } from './shapes.ts';
import { asUnavailable } from './unavailable.ts';

function forkOnce(call: Call): Fork {
  let fork: EntityManager | undefined;
  return () => {
    fork ??= call.services.orm.em.fork();
    return fork;
  };
}

const unauthenticated = () => new DomainError('unauthenticated', 'Unauthenticated');
const forbidden = (message: string) => new DomainError('forbidden', message);

/** The caller as they are now: their credential can end while what a call brings is on its way. */
const current = (actor: Actor | null, fresh: boolean, within?: EntityManager) =>
  actor?.reload ? actor.reload({ fresh, ...(within && { within }) }) : actor;

/**
 * Decides by an operation's declaration alone whether an actor may run it.
 * @throws DomainError `unauthenticated`, or `forbidden` with what is missing
 */
function authorise(operation: AnyOperation, actor: Actor | null, place: Place): void {
  requireStanding(operation, actor, place);
  if (operation.scope === 'organization' && operation.confined !== 'own_projects' && place.grant?.projects)
    throw forbidden(
      `This credential is confined to projects; ${operation.name} is about the whole organisation and needs a credential for all of its projects`,
    );
}

function requireStanding({ permission, forPersons }: AnyOperation, actor: Actor | null, { grant }: Place): void {
  if (permission === 'public') return;
  if (!actor) throw unauthenticated();
  if (actor.run !== undefined && permission !== 'run_token')
    throw forbidden('The token of a run is only for reports on it');
  switch (permission) {
    case 'signed_in':
      return;
    case 'person':
      if (!actor.user) throw forbidden('Only a person who is signed in has an account');
      return;
    case 'instance_admin':
      if (!actor.instance_admin) throw forbidden('Only an administrator of this instance may do this');
      return;
    case 'owner':
      if (!grant?.owner) throw forbidden('Only an Owner of the organisation may do this');
      return;
    case 'run_token':
      if (actor.run === undefined) requirePermission(grant, 'manage_studio');
      return;
    default:
      requirePermission(grant, permission);
      if (forPersons && !actor.user?.session) throw forbidden('Only a person who is signed in may do this');
  }
}

/** How long a person need not prove again who they are, milliseconds. */
const proofLasts = 10 * 60_000;

/** A session that was left open, or stolen, is not enough for what hands out power. */
function requireRecentProof({ recentProof }: AnyOperation, { services }: Call, actor: Actor | null): void {
  const session = actor?.user?.session;
  if (!recentProof || !session || services.clock.now().getTime() - session.proved_at.getTime() <= proofLasts) return;
  throw new DomainError('reauthentication_required', 'Confirm your password, then try again');
}

/**
 * Finds where an input acts, and sets it in `place` as far as that goes.
 * @throws DomainError for what does not exist, and for callers without access to it
 */
async function locate(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  actor: Actor | null,
  input: unknown,
  place: Place,
): Promise<void> {
  if (operation.scope === 'public') return;
  if (!actor) throw unauthenticated();
  const names = (input ?? {}) as { organization?: unknown; project?: unknown };
  place.organization = await call.services.places.organization(em, names.organization);
  place.grant = actor.grantFor(place.organization.id);
  if (!place.grant) throw forbidden('This credential has no access to the organisation');
  if (operation.scope === 'organization') return;
  place.project = await call.services.places.project(em, place.organization, names.project);
  const { projects } = place.grant;
  if (projects && !projects.has(place.project.id)) throw forbidden('This credential has no access to the project');
}

function refuseWithoutEffect(field: string): DomainError {
  const problem = 'has no effect here';
  return new DomainError('invalid_request', `${field}: ${problem}; remove it, or send no Prefer: handling=strict`, {
    details: { errors: [{ field: `/${field}`, code: 'no_effect', message: problem }] },
  });
}

function makeContext(operation: AnyOperation, call: Call, em: Fork, actor: Actor | null, place: Place) {
  const { conditions, signal, services } = call;
  const context = {
    services,
    get em() {
      return em();
    },
    conditions,
    signal,
    address: call.address,
    ...(call.browser && { browser: call.browser }),
    setSession: (text: string | null) => {
      call.facts.session = text;
    },
    ...(call.uploads && { uploads: call.uploads }),
    ...(call.signed && { signed: call.signed }),
    ...(call.pack && { pack: call.pack }),
    onPhase: (phase: string) => call.onPhase?.(phase),
    actor,
    log: services.log,
    organization: place.organization,
    grant: place.grant,
    project: place.project,
    git: place.project ? (call.open?.(place.project.uuid) ?? services.git.open(place.project.uuid)) : undefined,
    require: (permission: Permission) => requirePermission(place.grant, permission),
    renewed: async (within?: EntityManager) => {
      const now = await asOfNow(operation, call, within ? () => within : forkOnce(call), place, within);
      return makeContext(operation, call, em, now.actor, now.place);
    },
    ignore: (field: string) => {
      // Thrown before anything is written for good: the transaction ends with it.
      if (call.strict) throw refuseWithoutEffect(field);
      call.facts.ignored = [...(call.facts.ignored ?? []), field];
    },
    room: async (bytes: number) => {
      if (operation.kind === 'query') await call.room?.(bytes);
    },
    attach: (bytes: Buffer) => {
      call.facts.bytes = bytes;
    },
    attachStream: (content: AsyncIterable<Uint8Array>) => {
      call.facts.stream = content;
    },
    tag: (etag: string) => {
      call.facts.etag = etag;
      const wanted = conditions.if_none_match;
      if (operation.kind !== 'query' || !wanted) return;
      if (wanted === '*' || wanted.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
        throw new NotModified();
    },
  };
  for (const { provide } of operation.extensions) Object.assign(context, provide?.(services, place));
  return context;
}

/** Executes and shapes the output; a command of the database does both inside its transaction, with its audit row. */
async function perform(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  actor: Actor | null,
  place: Place,
  { input, claim }: { input: unknown; claim: IdempotencyClaim | null },
) {
  const { audit, grants } = call.services;
  const context = makeContext(operation, call, em, actor, place);
  const execute = (within: typeof context) => operation.execute(within as never, input as never);
  const shape = (result: unknown) => encodeOutput(operation.output as z.ZodType, result);
  const entriesOf = (result: unknown) => auditEntries(operation, call, actor, place, input, 'ok', result);

  if (operation.kind === 'query' || operation.effect === 'external') {
    const result = await around(operation, context, () => execute(context));
    const output = await shape(result);
    // What lies outside the database is done and durable: its row may come later, but the answer is what happened.
    for (const entry of entriesOf(result)) await audit.recordSoon(entry);
    await claim?.complete({ output, etag: call.facts.etag });
    return output;
  }

  await operation.prepare?.(context as never, input as never);
  let inside = context;
  const caller = { actor: actor?.id ?? '', organization: place.organization?.id ?? null };
  const transact = () =>
    em().transactional(async (fork) => {
      if (operation.freshGrant === 'in_turn') await grants.hold(fork, rightsAt(actor, place));
      // The turn can come long after the call was let in.
      const now = await asOfNow(operation, call, () => fork, place, fork);
      inside = makeContext(operation, call, () => fork, now.actor, now.place);
      const result = await execute(inside);
      const output = await shape(result);
      for (const entry of entriesOf(result)) await audit.record(fork, entry);
      await claim?.complete({ output, etag: call.facts.etag }, fork);
      await call.inTransaction?.(fork, output);
      return output;
    });
  const output = await around(operation, context, () => call.services.transactions.run(caller, transact));
  // The caller's next request finds its own change, even before the notification has come round.
  for (const subject of grants.changedIn(inside.em)) grants.evict(subject);
  for (const { afterCommit } of operation.extensions) afterCommit?.(inside as never, output);
  return output;
}

/** Runs what extensions want around the transaction, the first of them outermost. */
function around(operation: AnyOperation, context: object, execute: () => Promise<unknown>): Promise<unknown> {
  return operation.extensions.reduceRight(
    (inner, extension) => () => extension.around?.(operation, context as never, inner) ?? inner(),
    execute,
  )();
}

/** An input of so many values is read in pieces between which others are served. */
const manyValues = 10_000;

/** Reads the input; what it names and is unknown is refused before what is wrong with the rest. */
async function readInput(
  operation: AnyOperation,
  given: unknown,
  context: () => ReturnType<typeof makeContext>,
): Promise<unknown> {
  const input = withCleared(operation.input, given);
  try {
    if (checkInput(operation.input, input) > manyValues) await yieldLoop();
    return operation.rawInput ? input : parseChecked(operation.input, input);
  } catch (error) {
    await operation.find?.(context() as never, input as Record<string, unknown>);
    throw error;
  }
}

/** Characters of a list of ETags: what a header of HTTP has room for, of which GraphQL knows no bound. */
const longestTags = 16_384;

/** @throws DomainError `invalid_request` */
function checkTags({ if_match = '' }: Conditions): void {
  if (if_match.length > longestTags)
    throw fieldError('invalid_request', 'If-Match', `must be at most ${longestTags} characters`);
}

/**
 * The only way into an operation: authorise, parse, execute (a command of the database in one transaction), shape the output, log.
 * @returns the output as it goes on the wire: nothing undeclared leaves.
 * @throws DomainError for refusals; anything else is a fault of ours.
 */
export function run<
  S extends Scope,
  In extends z.ZodObject,
  Out extends z.ZodType,
  Also extends Permission,
  Runtimes extends object,
  Adds extends object,
>(
  operation: Operation<S, In, Out, Also, Runtimes, Adds>,
  call: Call<NoInfer<Runtimes>>,
  rawInput: unknown,
): Promise<z.input<Out>> {
  const work = () => carryOut(operation as unknown as AnyOperation, call as unknown as Call, rawInput);
  return workFor(call.actor?.id ?? call.address ?? '', work) as Promise<z.input<Out>>;
}

async function carryOut(operation: AnyOperation, call: Call, rawInput: unknown): Promise<unknown> {
  const began = performance.now();
  // What a client waits for; jobs have no address.
  const { activity } = call.services;
  if (call.address !== null) activity.note();
  const em = forkOnce(call);
  const place: Place = { organization: null, project: null, grant: null };
  let actor = call.actor;
  let input: unknown;
  let claim: IdempotencyClaim | null = null;
  let outcome = 'ok';
  try {
    actor = await current(actor, Boolean(operation.freshGrant));
    await locate(operation, call, em, actor, rawInput, place);
    authorise(operation, actor, place);
    requireRecentProof(operation, call, actor);
    checkTags(call.conditions);
    call.facts.renewed = () => asOfNow(operation, call, forkOnce(call), place);
    input = await readInput(operation, rawInput ?? {}, () => makeContext(operation, call, em, actor, place));
    const key = call.conditions.idempotency_key;
    if (operation.kind === 'command' && key !== undefined && actor)
      claim = await call.services.idempotency.claim({
        actor: actor.id,
        operation: operation.name,
        place: String(place.project?.uuid ?? place.organization?.id ?? ''),
        key,
        input: rawInput,
      });
    if (claim?.replay) {
      call.facts.replayed = true;
      if (claim.replay.etag !== null) call.facts.etag = claim.replay.etag;
      return claim.replay.output;
    }
    const output = await perform(operation, call, em, actor, place, { input, claim });
    if (operation.kind === 'command') outcome = operation.outcome?.(output as never) ?? outcome;
    return output;
  } catch (thrown) {
    const error = asUnavailable(thrown);
    await claim?.release().catch((err: unknown) => call.services.log.warn({ err }, 'idempotency key not released'));
    outcome = error instanceof DomainError ? error.code : error instanceof NotModified ? 'not_modified' : 'internal';
    if (operation.kind === 'command') await auditRefusal(operation, call, actor, place, input ?? rawInput, error);
    throw error;
  } finally {
    if (call.address !== null) activity.note();
    const seconds = (performance.now() - began) / 1000;
    call.services.metrics.operation(operation.name, outcome, seconds);
    call.services.log.debug(
      {
        operation: operation.name,
        actor: actor?.id ?? null,
        organization: place.organization?.machine_name ?? null,
        duration_ms: Math.round(seconds * 1e5) / 100,
        outcome,
        request_id: call.request_id,
      },
      'operation',
    );
  }
}

/**
 * Refuses a call by where it acts and who calls, before its body is read. `run()` decides again, by grants from the database where the operation
 * wants them.
 * @param path what the address says of the input
 * @throws DomainError as `run()` does
 */
export async function admitByPath(operation: AnyOperation, call: Call, path: Record<string, unknown>): Promise<void> {
  if (!operation.freshGrant) await placeOf(operation, call, forkOnce(call), path);
}

async function placeOf(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  known: Record<string, unknown>,
  within?: EntityManager,
) {
  const place: Place = { organization: null, project: null, grant: null };
  const actor = await current(call.actor, within !== undefined && Boolean(operation.freshGrant), within);
  await locate(operation, call, em, actor, known, place);
  authorise(operation, actor, place);
  return { actor, place };
}

/**
 * Who calls and where, by what holds now.
 * @param within transaction to read in
 * @throws DomainError for a caller whose rights have ended, and for a place that is gone
 */
async function asOfNow(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  { organization, project }: Place,
  within?: EntityManager,
) {
  const names = { organization: organization?.machine_name, project: project?.machine_name };
  const now = await placeOf(operation, call, em, names, within);
  // Another one can have taken its name.
  if (now.place.organization?.id !== organization?.id) throw new DomainError('not_found', 'Organisation not found');
  if (now.place.project?.id !== project?.id) throw new DomainError('not_found', 'Project not found');
  return now;
}

/** Refusals of a caller whose rights, or whose place, have ended. */
export const hasEnded: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden', 'not_found']);

/** Milliseconds of sending after which rights are looked at again; a right that is lost may hold for ten seconds at most. */
export const lookEvery = 5_000;

/** An answer on its way to a client: a response of Node. */
interface Sent {
  readonly closed: boolean;
  destroy(): unknown;
}

/**
 * Cuts the connection as soon as its caller may not read any more what is being sent: a snapshot or a clone has gigabytes, and a client can take
 * hours for them. Without a proper end no client takes a part for the whole.
 * @returns to be called when all is sent
 */
export function watchRights({ facts, services: { log }, request_id }: Call, response: Sent): () => void {
  if (response.closed) return () => {};
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      await facts.renewed?.();
    } catch (err) {
      const mayNot = err instanceof DomainError && hasEnded.has(err.code);
      log.info({ err, request_id }, mayNot ? 'an answer was cut off' : 'rights could not be looked at');
      if (mayNot) response.destroy();
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), lookEvery);
  return () => clearInterval(timer);
}

/** Ids of the organisations whose rights decide on a call. */
const rightsAt = (actor: Actor | null, { organization }: Place): readonly number[] =>
  organization ? [organization.id] : (actor?.organizations ?? []);

/**
 * Refuses a call that brings files by all that is known of it before a file is read: where it acts, its permission and the input so far.
 * `run()` decides again with all of it.
 * @param known what has come of the input
 * @param file name of the file that comes next; null before the body is read at all
 * @throws DomainError as `run()` does
 */
export async function admit(
  operation: AnyOperation,
  call: Call,
  known: Record<string, unknown>,
  file: string | null,
): Promise<void> {
  const em = forkOnce(call);
  const { actor, place } = await placeOf(operation, call, em, known);
  const schema = (operation.input as z.ZodObject).partial();
  const input = parseInput(schema, withCleared(operation.input, known));
  if (file !== null) await operation.admit?.(makeContext(operation, call, em, actor, place) as never, input, file);
}

/**
 * Writes the audit row of a command that its protocol refuses before it can run, since what was sent cannot be read.
 * @param input what is known of it: where it acts at least
 */
export async function recordRefusal(operation: AnyOperation, call: Call, input: object, error: unknown): Promise<void> {
  if (operation.kind !== 'command') return;
  const place: Place = { organization: null, project: null, grant: null };
  // The row names what is there; the refusal stays what the caller sees.
  await locate(operation, call, forkOnce(call), call.actor, input, place).catch(() => undefined);
  await auditRefusal(operation, call, call.actor, place, input, asUnavailable(error));
}
