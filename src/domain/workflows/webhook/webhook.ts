import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../kernel/errors.ts';
import { asUnavailable } from '../../../kernel/unavailable.ts';
import { countdown } from '../../../lib/timing.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { Clock } from '../../../ports/clock.ts';
import { generationHeader } from '../../notifications/generation.ts';
import { generationOfCall, mostGenerations } from '../executions/execution.entity.ts';
import { TriggerCache, type WebhookTrigger } from '../triggers/trigger-cache.ts';
import type { WorkflowServices } from '../workflows.ts';
import { CallStore } from './accept.ts';
import { findTrigger, type OpenedCall, openCall } from './authenticate.ts';
import { BodyMemory, codingOf, inflate, type RawBody, readBody } from './body.ts';
import { Refusals, Refused, refusedBodies, webhookResponses } from './refusals.ts';
import { joinedHeaders, type WebhookCall, type WebhookResponse } from './webhook-call.ts';

/** Failed signatures a minute of one address and workflow, before its bodies are not read any more. */
const failureBudget = 1_000;

/** What a workflow that calls its own webhook again and again is given to wait, seconds: as long as steps obey it. */
const loopWait = 3600;

/** How long the database may take for a call in all, milliseconds: beside what its body takes, its sender gets an answer within five seconds. */
const patience = 4_500;

/** Bounds what the parts of one call take together. */
class TimeBudget {
  #left = patience;

  /** @throws DomainError `unavailable` when the work takes longer; it may be done all the same, and the sender's repeat finds it */
  async spend<T>(work: Promise<T>): Promise<T> {
    const began = performance.now();
    let stop = () => {};
    const late = new Promise<never>((_, reject) => {
      stop = countdown(this.#left, () => reject(new DomainError('unavailable', 'The database does not answer')));
    });
    return Promise.race([work, late]).finally(() => {
      stop();
      this.#left = Math.max(0, this.#left - (performance.now() - began));
    });
  }
}

const minute = 60_000;
const mostKeys = 10_000;

/** Counts events by key within minutes. Per process. */
class MinuteCounts {
  readonly #clock: Clock;
  readonly #windows = new LRUCache<string, { count: number; until: number }>(upTo(mostKeys));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #window(key: string) {
    const now = this.#clock.now().getTime();
    const known = this.#windows.get(key);
    if (known && known.until > now && known.until <= now + minute) return known;
    const fresh = { count: 0, until: now + minute };
    this.#windows.set(key, fresh);
    return fresh;
  }

  /** Seconds until a key may be counted again; 0: now. */
  wait(key: string, limit: number): number {
    const { count, until } = this.#window(key);
    return count < limit ? 0 : Math.max(1, Math.ceil((until - this.#clock.now().getTime()) / 1000));
  }

  add(key: string): void {
    this.#window(key).count += 1;
  }
}

/** `Retry-After` while too many executions are pending, seconds. */
const backlogPatience = 10;

/** Quotas of genuine calls: how many a minute a webhook takes, and how many executions of an organisation may wait. */
class Admission {
  readonly #rates: MinuteCounts;
  readonly #workflows: WorkflowServices['workflows'];

  constructor({ clock, workflows }: Pick<WorkflowServices, 'clock' | 'workflows'>) {
    this.#rates = new MinuteCounts(clock);
    this.#workflows = workflows;
  }

  /** @throws Refused when a quota is used up */
  async require({ id, organization_id, rate_limit, backlog }: WebhookTrigger): Promise<void> {
    if (rate_limit !== null) {
      const wait = this.#rates.wait(id, rate_limit);
      if (wait > 0) throw new Refused(webhookResponses.tooMany(wait), 'rate_limit');
      this.#rates.add(id);
    }
    const { limits, backlog: pending } = this.#workflows;
    if (await pending.isFull(organization_id, backlog ?? limits.backlog))
      throw new Refused(webhookResponses.tooMany(backlogPatience), 'backlog');
  }

  /** Counts an execution that was begun. */
  take({ organization_id }: WebhookTrigger): void {
    this.#workflows.backlog.add(organization_id);
  }
}

/** The way in for outside services: decides by what a call brings whether it starts a workflow, and answers only when that is durable. */
export class WebhookEndpoint {
  readonly triggers: TriggerCache;
  readonly #services: WorkflowServices;
  readonly #memory: BodyMemory;
  readonly #failures: MinuteCounts;
  readonly #room: Admission;
  readonly #refusals: Refusals;
  readonly #store: CallStore;

  constructor(services: WorkflowServices) {
    this.#services = services;
    this.triggers = new TriggerCache(services.orm);
    this.#memory = new BodyMemory(services.workflows.limits.memory_bytes);
    this.#failures = new MinuteCounts(services.clock);
    this.#room = new Admission(services);
    this.#refusals = new Refusals(services);
    this.#store = new CallStore(services, async (call, stale) => {
      this.triggers.evict(stale.workflow_id);
      return openCall(services, call, await findTrigger(this.triggers, call));
    });
  }

  /** Never throws: an internal error is answered with 503, so that the sender tries again. */
  async answer(call: WebhookCall): Promise<WebhookResponse> {
    const began = performance.now();
    const { metrics } = this.#services;
    const counted = (answer: WebhookResponse, outcome: string) => {
      metrics.operation('workflows.receiveWebhook', outcome, (performance.now() - began) / 1000);
      return answer;
    };
    let trigger: WebhookTrigger | null = null;
    try {
      const patient = new TimeBudget();
      trigger = await patient.spend(findTrigger(this.triggers, call));
      return counted(await this.#receive(call, trigger, patient), 'ok');
    } catch (error) {
      const refused = error instanceof Refused ? error : this.#failed(error);
      if (trigger && refused.reason) this.#refusals.note(trigger.id, refused.reason, call);
      return counted(refused.answer, refused.reason ?? 'not_found');
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
    return new Refused(webhookResponses.unavailable, 'unavailable');
  }

  async #receive(call: WebhookCall, trigger: WebhookTrigger, patient: TimeBudget): Promise<WebhookResponse> {
    const opened = await patient.spend(openCall(this.#services, call, trigger));
    const key = `${call.address} ${trigger.workflow_id}`;
    const { signature } = opened.proof;
    if (signature !== null) {
      const wait = this.#failures.wait(key, failureBudget);
      if (wait > 0) throw new Refused(webhookResponses.tooMany(wait), 'too_many_failures');
    }
    const account = this.#memory.open(opened.trigger);
    let body: RawBody | undefined;
    try {
      const { blobs, workflows } = this.#services;
      const limit = workflows.limits.body_bytes;
      const read = await readBody(call, { limit, account, blobs, secrets: opened.secrets, signature });
      if (typeof read === 'string') throw refusedBodies[read]();
      body = read.body;
      const version = signature === null ? opened.proof.version : read.signedBy;
      if (version === null) {
        this.#failures.add(key);
        throw new Refused(webhookResponses.unauthorized, 'signature');
      }
      const answer = await patient.spend(this.#accept(call, opened, body, version));
      // It is stored and has no readers left. After an error a statement may still read it.
      body.release();
      return answer;
    } finally {
      body?.drop();
      account.release();
    }
  }

  /** What is left when it is certain who calls. */
  async #accept(call: WebhookCall, opened: OpenedCall, body: RawBody, version: number): Promise<WebhookResponse> {
    const headers = joinedHeaders(call.rawHeaders);
    await this.#requireReadable(headers.get('content-encoding'), body);
    if (generationOfCall(headers.get(generationHeader)) > mostGenerations)
      throw new Refused(webhookResponses.tooMany(loopWait), 'loop');
    await this.#room.require(opened.trigger);
    await body.keep();
    const { accepted, trigger } = await this.#store.store({ call, headers, body }, opened, version);
    if (!accepted.replayed) this.#room.take(trigger);
    return webhookResponses.accepted(accepted.execution_id, accepted.replayed);
  }

  async #requireReadable(header: string | undefined, body: RawBody): Promise<void> {
    const coding = codingOf(header);
    if (coding === undefined) throw new Refused(webhookResponses.badEncoding, 'encoding');
    if (coding === null) return;
    await body.keep();
    const coded = { head: body.head, chunks: body.read() };
    const found = await inflate(coded, coding, this.#services.workflows.limits.body_bytes);
    if (found === 'too_large') throw new Refused(webhookResponses.tooLarge, 'too_large');
  }
}
