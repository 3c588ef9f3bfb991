import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import { asUnavailable } from '../../unavailable.ts';
import { uuid7 } from '../../uuid7.ts';
import { openSecrets } from '../triggers/sealed-secret.ts';
import { type DoorTrigger, TriggerCache } from '../triggers/trigger-cache.ts';
import { type Acceptance, acceptCalls, type ProvedCall } from './accept/accept.ts';
import { SharedCommits } from './accept/shared-commits.ts';
import { Backlog } from './backlog.ts';
import { BodyMemory } from './body/body-memory.ts';
import { codingOf, inflate } from './body/inflate.ts';
import { type BodyFault, type RawBody, readBody, signedBy } from './body/read-body.ts';
import { MinuteCounts } from './budgets.ts';
import { dedupKeyOf } from './call/dedup-key.ts';
import { joinedHeaders } from './call/header-lines.ts';
import { type HeadProof, proveHead } from './call/prove-head.ts';
import { redactHeaders, redactQuery, secretFinder } from './call/redact.ts';
import type { DoorAnswer, WebhookCall } from './call/webhook-call.ts';
import { doorAnswers } from './door-answers.ts';
import { noteOldSecrets } from './old-secrets.ts';
import type { TriggerSecret } from './prove.ts';
import type { RefusalReason } from './refusal-reasons.ts';
import { Refusals } from './refusals.ts';

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Failed signatures a minute of one address and workflow, before its bodies are not read any more. */
const failureBudget = 1_000;
/** Bodies up to so many bytes are in the delivery's row. */
const inRow = 64 * 1024;
/** Seconds a sender is told to wait while too many executions are pending. */
const backlogPatience = 10;
/** After so many milliseconds nobody knows what becomes of a commit. */
const commitPatience = 10_000;
/** Times a call is proved again because its webhook changed meanwhile. */
const proofs = 4;

/** Thrown to answer early. */
class Refused extends Error {
  override name = 'Refused';
  readonly answer: DoorAnswer;
  readonly reason: RefusalReason | null;

  constructor(answer: DoorAnswer, reason: RefusalReason | null) {
    super(reason ?? 'refused');
    this.answer = answer;
    this.reason = reason;
  }
}

const bodyAnswers: Record<BodyFault, Refused> = {
  too_large: new Refused(doorAnswers.tooLarge, 'too_large'),
  no_memory: new Refused(doorAnswers.unavailable, 'unavailable'),
  slow: new Refused(doorAnswers.slow, 'timeout'),
  gone: new Refused(doorAnswers.slow, 'timeout'),
};

interface Opened {
  trigger: DoorTrigger;
  secrets: readonly TriggerSecret[];
  proof: HeadProof;
}

/** The way in for outside services: decides by what a call brings whether it starts a workflow, and answers only when that is durable. */
export class WebhookDoor {
  readonly triggers: TriggerCache;
  readonly #services: Services;
  readonly #memory: BodyMemory;
  readonly #failures: MinuteCounts;
  readonly #rates: MinuteCounts;
  readonly #backlog: Backlog;
  readonly #refusals: Refusals;
  readonly #commits: SharedCommits<ProvedCall, Acceptance>;

  constructor(services: Services) {
    const { orm, clock } = services;
    this.#services = services;
    this.triggers = new TriggerCache(orm);
    this.#memory = new BodyMemory(services.settings.door.memory_bytes);
    this.#failures = new MinuteCounts(clock);
    this.#rates = new MinuteCounts(clock);
    this.#backlog = new Backlog(orm);
    this.#refusals = new Refusals(services);
    this.#commits = new SharedCommits(
      (calls) => orm.em.fork().transactional((em) => acceptCalls(em, services, calls)),
      { isDefinite: (error) => !(asUnavailable(error) instanceof DomainError) },
    );
  }

  /** Never throws: what goes wrong here is no fault of the sender, who is told to come again. */
  async answer(call: WebhookCall): Promise<DoorAnswer> {
    const began = performance.now();
    const { metrics } = this.#services;
    const told = (answer: DoorAnswer, outcome: string) => {
      metrics.operation('workflows.receiveWebhook', outcome, (performance.now() - began) / 1000);
      return answer;
    };
    let trigger: DoorTrigger | null = null;
    try {
      trigger = await this.#find(call);
      return told(await this.#receive(call, trigger), 'ok');
    } catch (error) {
      const refused = error instanceof Refused ? error : this.#failed(error);
      if (trigger && refused.reason) this.#refusals.note(trigger.id, refused.reason, call);
      return told(refused.answer, refused.reason ?? 'not_found');
    }
  }

  /** Writes what is only noted. */
  async close(): Promise<void> {
    await this.#refusals.flush();
  }

  #failed(thrown: unknown): Refused {
    const error = asUnavailable(thrown);
    const { log } = this.#services;
    if (error instanceof DomainError) log.warn({ err: error.cause ?? error }, 'a webhook call was put off');
    else log.error({ err: thrown }, 'a webhook call failed');
    return new Refused(doorAnswers.unavailable, 'unavailable');
  }

  async #find({ workflow }: WebhookCall): Promise<DoorTrigger> {
    const trigger = idForm.test(workflow) ? await this.triggers.get(workflow) : null;
    if (!trigger) throw new Refused(doorAnswers.notConfigured, null);
    return trigger;
  }

  /** Everything that is known before the body is read. */
  async #open(call: WebhookCall, trigger: DoorTrigger): Promise<Opened> {
    if (!trigger.enabled) throw new Refused(doorAnswers.notConfigured, 'disabled');
    const { organization_id } = trigger;
    const secrets = await openSecrets(this.#services, organization_id, trigger, this.#services.clock.now());
    const proof = proveHead(trigger, secrets, call);
    if ('version' in proof) return { trigger, secrets, proof };
    throw new Refused(proof.allow ? doorAnswers.methodNotAllowed(proof.allow) : doorAnswers.unauthorized, proof.reason);
  }

  async #receive(call: WebhookCall, trigger: DoorTrigger): Promise<DoorAnswer> {
    const opened = await this.#open(call, trigger);
    const key = `${call.address} ${trigger.workflow_id}`;
    const { signature } = opened.proof;
    if (signature !== null) {
      const wait = this.#failures.wait(key, failureBudget);
      if (wait > 0) throw new Refused(doorAnswers.tooMany(wait), 'too_many_failures');
    }
    const account = this.#memory.open();
    try {
      const limit = this.#services.settings.door.body_bytes;
      const body = await readBody(call, limit, account, { secrets: opened.secrets, signature });
      if (typeof body === 'string') throw bodyAnswers[body];
      const version = signature === null ? opened.proof.version : body.signedBy;
      if (version === null) {
        this.#failures.add(key);
        throw new Refused(doorAnswers.unauthorized, 'signature');
      }
      return await this.#accept(call, opened, body, version);
    } finally {
      account.release();
    }
  }

  /** What is left when it is certain who calls. */
  async #accept(call: WebhookCall, opened: Opened, body: RawBody, version: number): Promise<DoorAnswer> {
    const headers = joinedHeaders(call.rawHeaders);
    await this.#requireReadable(headers.get('content-encoding'), body);
    await this.#requireRoom(opened.trigger);
    if (body.size > inRow) await this.#keep(body);
    const { accepted, trigger } = await this.#store(call, opened, body, version, headers);
    if (!accepted.replayed) this.#backlog.add(trigger.organization_id);
    return doorAnswers.accepted(accepted.execution_id, accepted.replayed);
  }

  async #requireReadable(header: string | undefined, { chunks }: RawBody): Promise<void> {
    const coding = codingOf(header);
    if (coding === undefined) throw new Refused(doorAnswers.badEncoding, 'encoding');
    if (coding === null) return;
    const found = await inflate(chunks, coding, this.#services.settings.door.body_bytes);
    if (found === 'too_large') throw new Refused(doorAnswers.tooLarge, 'too_large');
  }

  async #requireRoom({ id, organization_id, rate_limit, backlog }: DoorTrigger): Promise<void> {
    if (rate_limit !== null) {
      const wait = this.#rates.wait(id, rate_limit);
      if (wait > 0) throw new Refused(doorAnswers.tooMany(wait), 'rate_limit');
      this.#rates.add(id);
    }
    if (await this.#backlog.isFull(organization_id, backlog ?? this.#services.settings.door.backlog))
      throw new Refused(doorAnswers.tooMany(backlogPatience), 'backlog');
  }

  /** Large bodies are on the disk before a row names them. */
  async #keep({ chunks, sha256 }: RawBody): Promise<void> {
    const pieces = (async function* () {
      yield* chunks;
    })();
    const kept = await this.#services.blobs.put(pieces);
    if (kept.sha256 !== sha256) throw new Error('a body changed on its way to the disk');
  }

  async #store(
    call: WebhookCall,
    opened: Opened,
    body: RawBody,
    provedBy: number,
    headers: ReadonlyMap<string, string>,
  ): Promise<{ accepted: Exclude<Acceptance, 'stale'>; trigger: DoorTrigger }> {
    const { clock, settings } = this.#services;
    const received_at = clock.now();
    const ids = { delivery_id: uuid7(received_at), execution_id: uuid7(received_at) };
    let { trigger, secrets, proof } = opened;
    let secret_version: number | null = provedBy;
    for (let proofsLeft = proofs; proofsLeft > 0; proofsLeft -= 1) {
      if (secret_version === null) throw new Refused(doorAnswers.unauthorized, 'signature');
      const holdsSecret = secretFinder(secrets.map(({ value }) => value));
      const proved: ProvedCall = {
        ...ids,
        trigger,
        secret_version,
        method: call.method,
        headers: redactHeaders(headers, settings.door.redact_headers, holdsSecret),
        query: redactQuery(call.query, holdsSecret),
        body: body.size > inRow ? null : Buffer.concat(body.chunks, body.size),
        raw_size: body.size,
        raw_sha256: body.sha256,
        dedup_key: dedupKeyOf(headers),
        received_at,
      };
      const accepted = await this.#commit(proved);
      if (accepted !== 'stale') {
        if (secret_version !== trigger.secret_version) noteOldSecrets(this.#services, trigger.id);
        return { accepted, trigger };
      }
      this.triggers.evict(trigger.workflow_id);
      ({ trigger, secrets, proof } = await this.#open(call, await this.#find(call)));
      secret_version = proof.signature === null ? proof.version : await signedBy(body, secrets, proof.signature);
    }
    throw new DomainError('unavailable', 'The webhook changes faster than it can be looked at');
  }

  async #commit(proved: ProvedCall): Promise<Acceptance> {
    const late = new AbortController();
    const patience = setTimeout(commitPatience, null, { signal: late.signal }).then(
      () => Promise.reject(new DomainError('unavailable', 'The database does not answer')),
      () => 'stale' as const,
    );
    try {
      return await Promise.race([this.#commits.add(proved), patience]);
    } finally {
      late.abort();
    }
  }
}
