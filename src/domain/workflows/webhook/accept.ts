import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { SharedCommits } from '../../../kernel/shared-commits.ts';
import { executeBound, transactPipelined } from '../../../kernel/sql.ts';
import { uuid7 } from '../../../lib/ids.ts';
import { generationHeader } from '../../notifications/generation.ts';
import { packBody } from '../deliveries/kept-body.ts';
import { beginExecutions } from '../executions/begin-execution.ts';
import { generationOfCall } from '../executions/execution.entity.ts';
import type { AuthMode } from '../triggers/trigger.entity.ts';
import type { WebhookTrigger } from '../triggers/trigger-cache.ts';
import type { WorkflowServices } from '../workflows.ts';
import type { OpenedCall } from './authenticate.ts';
import { type RawBody, SpareBuffers, signedBy } from './body.ts';
import { Refused, webhookResponses } from './refusals.ts';
import { noteOldSecrets, redactHeaders, redactQuery } from './secret-retention.ts';
import type { ProvedCall, WebhookCall } from './webhook-call.ts';

/** Headers by which senders name a delivery, the strongest first. */
const keyHeaders = ['x-github-delivery', 'webhook-id', 'idempotency-key', 'x-gitlab-event-uuid'];

/** The name a sender gave its delivery: the first of the known headers, when it is 1 to 200 visible ASCII characters; else null. */
export function dedupKeyOf(headers: ReadonlyMap<string, string>): string | null {
  const key = keyHeaders.map((name) => headers.get(name)).find((value) => value !== undefined);
  return key !== undefined && /^[\x21-\x7e]{1,200}$/.test(key) ? key : null;
}

/** What a call's key says of it. `replaces`: the failed execution whose key it has taken over. */
type DedupOutcome =
  | { kind: 'new'; replaces: string | null }
  | { kind: 'duplicate'; execution_id: string; body_differs: boolean };

const day = 24 * 3600_000;

// Of calls with one key, also at the same time in several processes, the index lets one in.
const takeSql = `
  insert into delivery_key as held (trigger_id, key, execution_id, raw_sha256, expires_at)
  select trigger_id, key, execution_id, raw_sha256, expires_at
  from json_to_recordset($1::json)
    as wanted (trigger_id uuid, key text, execution_id uuid, raw_sha256 text, expires_at timestamptz)
  order by trigger_id, key
  on conflict (trigger_id, key) do update set
    replaces = case when held.expires_at > $2::timestamptz then held.execution_id end,
    execution_id = excluded.execution_id, raw_sha256 = excluded.raw_sha256, expires_at = excluded.expires_at
  where held.execution_id <> excluded.execution_id and (held.expires_at <= $2::timestamptz
    or exists (select 1 from execution where id = held.execution_id and status = 'failed'))
  returning trigger_id, key, replaces`;

const heldSql = `
  select trigger_id, key, execution_id, raw_sha256 from delivery_key
  where (trigger_id, key) in (
    select trigger_id, key from json_to_recordset($1::json) as wanted (trigger_id uuid, key text))`;

const nameOf = ({ trigger_id, key }: { trigger_id: string; key: string }) => `${trigger_id} ${key}`;

/** Takes the keys of calls, in the transaction of `em`. Calls without one are not in the answer. */
async function takeKeys(
  em: EntityManager,
  calls: readonly ProvedCall[],
  now: Date,
): Promise<Map<ProvedCall, DedupOutcome>> {
  const outcomes = new Map<ProvedCall, DedupOutcome>();
  const first = new Map<string, ProvedCall>();
  const keyed = calls.flatMap((call) => {
    const { dedup_key: key, trigger } = call;
    if (key === null) return [];
    const name = nameOf({ trigger_id: trigger.id, key });
    if (!first.has(name)) first.set(name, call);
    return [{ call, name }];
  });
  if (keyed.length === 0) return outcomes;
  const wanted = [...first.values()].map(({ trigger, dedup_key, execution_id, raw_sha256 }) => ({
    trigger_id: trigger.id,
    key: dedup_key,
    execution_id,
    raw_sha256,
    expires_at: new Date(now.getTime() + day),
  }));
  const rows = JSON.stringify(wanted);
  type Taken = { trigger_id: string; key: string; replaces: string | null };
  const taken = new Map((await executeBound<Taken>(em, takeSql, [rows, now])).map((row) => [nameOf(row), row]));
  const left = keyed.filter(({ call, name }) => !taken.has(name) || first.get(name) !== call);
  type Held = { trigger_id: string; key: string; execution_id: string; raw_sha256: string };
  const held = left.length === 0 ? [] : await executeBound<Held>(em, heldSql, [rows]);
  const holders = new Map(held.map((row) => [nameOf(row), row]));
  for (const { call, name } of keyed) {
    const won = taken.get(name);
    const holder = holders.get(name);
    if (won && first.get(name) === call) outcomes.set(call, { kind: 'new', replaces: won.replaces });
    else if (holder)
      outcomes.set(call, {
        kind: 'duplicate',
        execution_id: holder.execution_id,
        body_differs: holder.raw_sha256 !== call.raw_sha256,
      });
    else throw new Error('a key was neither taken nor held');
  }
  return outcomes;
}

// Headers and queries travel as texts: `json` keeps them to the letter. The bodies are one value, of which each row takes its part.
const insertSql = `
  insert into delivery (id, trigger_id, execution_id, outcome, method, headers, query, body, body_sha256, raw_size, raw_sha256, dedup_key,
    body_differs, auth_mode, secret_version, received_at)
  select id, trigger_id, execution_id, outcome, method, headers::json, query::json,
    case when body_sha256 is null then substring($2::bytea from body_at + 1 for body_size) end, body_sha256, raw_size, raw_sha256, dedup_key,
    body_differs, auth_mode, secret_version, received_at
  from json_to_recordset($1::json) as given (id uuid, trigger_id uuid, execution_id uuid, outcome text, method text, headers text,
    query text, body_at integer, body_size integer, body_sha256 text, raw_size integer, raw_sha256 text, dedup_key text, body_differs boolean,
    auth_mode text, secret_version integer, received_at timestamptz)`;

/** To compress a body below this size takes mostly the time to begin; bytes. */
const small = 16 * 1024;
/** When more calls than these are stored together, they come faster than that is worth: small bodies are then kept as they are. */
const few = 4;

/** For the bodies of calls that are stored together. */
const spare = new SpareBuffers(512 * 1024, 2);

/** The body as its row keeps it, of one call among so many. */
const keptBody = (body: Uint8Array, calls: number): Uint8Array =>
  calls > few && body.length < small ? body : packBody(body);

interface Decided {
  call: ProvedCall;
  outcome: DedupOutcome;
}

const rowOf = ({ call, outcome }: Decided, body_at: number, body_size: number) => ({
  id: call.delivery_id,
  trigger_id: call.trigger.id,
  execution_id: outcome.kind === 'new' ? call.execution_id : outcome.execution_id,
  outcome: outcome.kind === 'new' ? 'accepted' : 'duplicate',
  method: call.method,
  headers: JSON.stringify(call.headers),
  query: JSON.stringify(call.query),
  body_at,
  body_size,
  body_sha256: call.body === null ? call.raw_sha256 : null,
  raw_size: call.raw_size,
  raw_sha256: call.raw_sha256,
  dedup_key: call.dedup_key,
  body_differs: outcome.kind === 'duplicate' && outcome.body_differs,
  auth_mode: call.trigger.auth_mode,
  secret_version: call.secret_version,
  received_at: call.received_at,
});

/** Writes the rows of calls that were proved, duplicates too. */
async function insertDeliveries(em: EntityManager, deliveries: readonly Decided[]): Promise<void> {
  if (deliveries.length === 0) return;
  let at = 0;
  const bodies = deliveries.map(({ call }) => call.body && keptBody(call.body, deliveries.length));
  const rows = deliveries.map((decided, index) => {
    const size = bodies[index]?.length ?? 0;
    const row = rowOf(decided, at, size);
    at += size;
    return row;
  });
  const memory = spare.take(at);
  for (const [index, body] of bodies.entries()) if (body) memory.set(body, rows[index]?.body_at);
  await executeBound(em, insertSql, [JSON.stringify(rows), memory.subarray(0, at)]);
  spare.give(memory);
}

/** `stale`: the webhook has changed since the call was proved; nothing was stored. */
type Acceptance = { execution_id: string; replayed: boolean } | 'stale';

interface TriggerNow {
  id: string;
  open: boolean;
  auth_mode: AuthMode;
  methods: string[] | null;
  secret_version: number;
  has_secret: boolean;
  previous_version: number | null;
  previous_expires_at: string | null;
  project_id: number;
  version: number;
}

// Shared locks: rotating, disabling and deleting wait for this commit, or are visible to it.
const checkSql = `
  select t.id, t.enabled and w.enabled and t.deleted_at is null and w.deleted_at is null and p.deleted_at is null as open,
    t.auth_mode, t.methods, t.secret_version, t.secret is not null as has_secret,
    case when t.previous_secret is not null then t.previous_secret_version end as previous_version,
    t.previous_secret_expires_at as previous_expires_at, w.project_id, w.version
  from workflow_trigger t join workflow w on w.id = t.workflow_id join project p on p.id = w.project_id
  where t.id = any($1::uuid[]) order by t.id
  for share of t, w`;

async function triggersNow(em: EntityManager, calls: readonly ProvedCall[]): Promise<Map<string, TriggerNow>> {
  const ids = [...new Set(calls.map(({ trigger }) => trigger.id))];
  const rows = await executeBound<TriggerNow>(em, checkSql, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether what proved a call still opens its webhook. */
function stillHolds({ trigger, secret_version }: ProvedCall, now: TriggerNow | undefined, at: () => Date): boolean {
  if (!now?.open || now.auth_mode !== trigger.auth_mode) return false;
  if (JSON.stringify(now.methods) !== JSON.stringify(trigger.methods)) return false;
  if (secret_version === now.secret_version) return now.has_secret;
  const until = now.previous_expires_at;
  return secret_version === now.previous_version && until !== null && new Date(until) > at();
}

type Needs = Pick<Services, 'clock' | 'sharedClock' | 'events' | 'jobs'>;

/** Stores calls in the transaction of `em`: deliveries, keys, executions, their first events and jobs. @returns in the order of the calls */
async function acceptCalls(em: EntityManager, services: Needs, calls: readonly ProvedCall[]): Promise<Acceptance[]> {
  const triggers = await triggersNow(em, calls);
  const isOld = (call: ProvedCall) => triggers.get(call.trigger.id)?.secret_version !== call.secret_version;
  // The clock all processes share decides when a grace ends; it is read only when that matters.
  const now = calls.some(isOld) ? await services.sharedClock.now(em) : services.clock.now();
  const good = calls.filter((call) => stillHolds(call, triggers.get(call.trigger.id), () => now));
  const outcomes = await takeKeys(em, good, services.clock.now());
  const outcomeOf = (call: ProvedCall): DedupOutcome => outcomes.get(call) ?? { kind: 'new', replaces: null };
  const begun = good.filter((call) => outcomeOf(call).kind === 'new');
  const requests = begun.map((call) => {
    const { project_id = 0, version = 0 } = triggers.get(call.trigger.id) ?? {};
    const outcome = outcomeOf(call);
    return {
      id: call.execution_id,
      workflow: { id: call.trigger.workflow_id, project_id, version },
      trigger: { id: call.trigger.id, type: 'webhook' as const },
      delivery_id: call.delivery_id,
      generation: call.generation,
      ...(outcome.kind === 'new' && outcome.replaces !== null && { replay_of: outcome.replaces }),
    };
  });
  const deliveries = good.map((call) => ({ call, outcome: outcomeOf(call) }));
  await Promise.all([beginExecutions(em, services, requests), insertDeliveries(em, deliveries)]);
  const isGood = new Set(good);
  return calls.map((call) => {
    if (!isGood.has(call)) return 'stale';
    const outcome = outcomeOf(call);
    return outcome.kind === 'new'
      ? { execution_id: call.execution_id, replayed: false }
      : { execution_id: outcome.execution_id, replayed: true };
  });
}

/** Times a call is proved again because its webhook changed meanwhile. */
const proofs = 4;

/** A call with all that was read of it. */
interface ReadCall {
  call: WebhookCall;
  headers: ReadonlyMap<string, string>;
  body: RawBody;
}

/** What became of a call, and the webhook as it was when it was accepted. */
interface Stored {
  accepted: Exclude<Acceptance, 'stale'>;
  trigger: WebhookTrigger;
}

/** Stores proved calls, many in one transaction, and proves one again whose webhook has changed on the way. */
export class CallStore {
  readonly #services: WorkflowServices;
  readonly #reopen: (call: WebhookCall, stale: WebhookTrigger) => Promise<OpenedCall>;
  readonly #commits: SharedCommits<ProvedCall, Acceptance>;

  /** @param reopen looks at the webhook of a call anew */
  constructor(services: WorkflowServices, reopen: (call: WebhookCall, stale: WebhookTrigger) => Promise<OpenedCall>) {
    this.#services = services;
    this.#reopen = reopen;
    this.#commits = new SharedCommits((calls) =>
      transactPipelined(services.orm.em, (em) => acceptCalls(em, services, calls)),
    );
  }

  /**
   * @param provedBy version of the secret
   * @throws Refused when the webhook has changed so that the call does not open it any more; DomainError `unavailable`
   */
  async store(read: ReadCall, opened: OpenedCall, provedBy: number): Promise<Stored> {
    const received_at = this.#services.clock.now();
    const ids = { delivery_id: uuid7(received_at), execution_id: uuid7(received_at), received_at };
    let now = opened;
    let version: number | null = provedBy;
    for (let proofsLeft = proofs; proofsLeft > 0; proofsLeft -= 1) {
      if (version === null) throw new Refused(webhookResponses.unauthorized, 'signature');
      const accepted = await this.#commits.add({ ...ids, ...this.#kept(read, now), secret_version: version });
      if (accepted !== 'stale') {
        if (version !== now.trigger.secret_version) noteOldSecrets(this.#services, now.trigger.id, version);
        return { accepted, trigger: now.trigger };
      }
      now = await this.#reopen(read.call, now.trigger);
      const { proof, secrets } = now;
      version = proof.signature === null ? proof.version : await signedBy(read.body, secrets, proof.signature);
    }
    throw new DomainError('unavailable', 'The webhook changes faster than it can be looked at');
  }

  /** What of a call is kept. */
  #kept({ call, headers, body }: ReadCall, { trigger, holdsSecret }: OpenedCall) {
    return {
      trigger,
      method: call.method,
      headers: redactHeaders(headers, this.#services.workflows.limits.redact_headers, holdsSecret),
      query: redactQuery(call.query, holdsSecret),
      body: body.bytes,
      raw_size: body.size,
      raw_sha256: body.sha256,
      dedup_key: dedupKeyOf(headers),
      generation: generationOfCall(headers.get(generationHeader)),
    };
  }
}
