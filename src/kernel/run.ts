import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { auditEntries, auditRefusal, recordAudit, recordSoon } from '../domain/audit/audit.ts';
import { checkCrawler } from '../domain/crawlers/config/check-crawler.ts';
import { organizationsChanged } from '../domain/identity/grant-cache.ts';
import { servicesFor } from '../domain/projects/project-ref.ts';
import { onMirror } from '../domain/studio/upstream/on-mirror.ts';
import type { Actor } from './actor.ts';
import { DomainError } from './errors.ts';
import { claimIdempotency, type IdempotencyClaim } from './idempotency.ts';
import { type AnyOperation, type Call, NotModified, type Operation, type Scope } from './operation.ts';
import { holdable, parseInput } from './parse.ts';
import type { Permission } from './permissions.ts';
import { authorise, type Fork, forkOnce, locate, type Place, requirePermission } from './place.ts';
import { withCleared } from './shapes.ts';
import { asUnavailable } from './unavailable.ts';

function refuseWithoutEffect(field: string): DomainError {
  const problem = 'has no effect here';
  return new DomainError('invalid_request', `${field}: ${problem}; remove it, or send no Prefer: handling=strict`, {
    details: { errors: [{ field: `/${field}`, code: 'no_effect', message: problem }] },
  });
}

function makeContext(operation: AnyOperation, call: Call, em: Fork, actor: Actor | null, place: Place) {
  const { conditions, signal } = call;
  return {
    services: servicesFor(call.services, place.project),
    get em() {
      return em();
    },
    conditions,
    signal,
    ...(call.uploads && { uploads: call.uploads }),
    ...(call.signed && { signed: call.signed }),
    ...(call.pack && { pack: call.pack }),
    onPhase: (phase: string) => call.onPhase?.(phase),
    actor,
    log: call.services.log,
    organization: place.organization,
    grant: place.grant,
    project: place.project,
    git: place.project ? call.services.git.open(place.project.uuid) : undefined,
    require: (permission: Permission) => requirePermission(place.grant, permission),
    ignore: (field: string) => {
      // Thrown before anything is written for good: the transaction ends with it.
      if (call.strict) throw refuseWithoutEffect(field);
      call.facts.ignored = [...(call.facts.ignored ?? []), field];
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
  const act = async (within: Fork) => {
    const context = makeContext(operation, call, within, actor, place);
    const result = await onMirror(operation, context, () => operation.execute(context as never, input as never));
    const output = z.encode(operation.output as z.ZodType, result);
    // What lies outside the database is done and durable: its row may come later, but the answer is what happened.
    for (const entry of auditEntries(operation, call, actor, place, input, 'ok', result))
      await (operation.kind === 'command' && operation.effect === 'external'
        ? recordSoon(call.services, entry)
        : recordAudit(within(), entry));
    if (operation.kind === 'command' && operation.effect !== 'external') {
      await claim?.complete({ output, etag: call.facts.etag }, within());
      await call.inTransaction?.(within(), output);
    }
    return output;
  };
  if (operation.kind === 'command' && operation.effect !== 'external') {
    let within: EntityManager | undefined;
    const output = await em().transactional((fork) => {
      within = fork;
      return act(() => fork);
    });
    // The caller's next request finds its own change, even before the notification has come round.
    if (within) for (const id of organizationsChanged(within)) call.services.grants.evict(id);
    if (operation.scope === 'project') call.services.previews.targets.forget();
    return output;
  }
  const output = await act(em);
  await claim?.complete({ output, etag: call.facts.etag });
  return output;
}

/** What is unknown is told before what is wrong with the rest of the input. */
async function readInput(operation: AnyOperation, em: Fork, place: Place, given: unknown): Promise<unknown> {
  const rawInput = withCleared(operation.input, given);
  try {
    return operation.reads_input ? holdable(operation.input, rawInput) : parseInput(operation.input, rawInput);
  } catch (error) {
    await checkCrawler(operation.input, em, place.project, rawInput);
    throw error;
  }
}

/**
 * The only door to an operation: authorise, parse, execute (a command of the database in one transaction), shape the output, log.
 * @returns the output as it goes on the wire: nothing undeclared leaves.
 * @throws DomainError for refusals; anything else is a fault of ours.
 */
export async function run<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
  operation: Operation<S, In, Out, Also>,
  call: Call,
  rawInput: unknown,
): Promise<z.input<Out>> {
  const any = operation as unknown as AnyOperation;
  const began = performance.now();
  const em = forkOnce(call);
  const place: Place = { organization: null, project: null, grant: null };
  let actor = call.actor;
  let input: unknown;
  let claim: IdempotencyClaim | null = null;
  let outcome = 'ok';
  try {
    if (operation.fresh && actor?.reload) actor = await actor.reload();
    await locate(any, call, em, actor, rawInput, place);
    authorise(any, actor, place);
    input = await readInput(any, em, place, rawInput ?? {});
    if (operation.kind === 'command') claim = await claimIdempotency(call, actor, operation.name, rawInput);
    if (claim?.replay) {
      call.facts.replayed = true;
      return claim.replay.output as z.input<Out>;
    }
    const output = await perform(any, call, em, actor, place, { input, claim });
    if (any.kind === 'command') outcome = any.outcome?.(output as never) ?? outcome;
    return output as z.input<Out>;
  } catch (thrown) {
    const error = asUnavailable(thrown);
    await claim?.release().catch((err: unknown) => call.services.log.warn({ err }, 'idempotency key not released'));
    outcome = error instanceof DomainError ? error.code : error instanceof NotModified ? 'not_modified' : 'internal';
    if (operation.kind === 'command') await auditRefusal(any, call, actor, place, input ?? rawInput, error);
    throw error;
  } finally {
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
  if (!operation.fresh) await placeOf(operation, call, forkOnce(call), path);
}

async function placeOf(operation: AnyOperation, call: Call, em: Fork, known: Record<string, unknown>): Promise<Place> {
  const place: Place = { organization: null, project: null, grant: null };
  await locate(operation, call, em, call.actor, known, place);
  authorise(operation, call.actor, place);
  return place;
}

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
  const place = await placeOf(operation, call, em, known);
  const schema = (operation.input as z.ZodObject).partial();
  const input = parseInput(schema, withCleared(operation.input, known));
  if (file !== null) await operation.admit?.(makeContext(operation, call, em, call.actor, place) as never, input, file);
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
