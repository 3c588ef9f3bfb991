import type { MikroORM } from '@mikro-orm/postgresql';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { type Refusal, type RefusalReason, type WebhookMethod, WorkflowRefusal } from '../triggers/trigger.entity.ts';
import type { BodyFault } from './body.ts';
import type { WebhookResponse } from './webhook-call.ts';

const refusal = (status: number, error: string, headers: Record<string, string> = {}): WebhookResponse => ({
  status,
  body: { error },
  headers,
});

/** Every answer of the endpoint, to the letter. */
export const webhookResponses = {
  accepted: (executionId: string, replayed: boolean): WebhookResponse => ({
    status: 202,
    body: { executionId },
    headers: replayed ? { 'Idempotency-Replayed': 'true' } : {},
  }),
  notConfigured: refusal(404, 'Workflow webhook not configured'),
  unauthorized: refusal(401, 'Unauthorized', { 'WWW-Authenticate': 'Bearer' }),
  methodNotAllowed: (allow: readonly WebhookMethod[]) =>
    refusal(405, 'Method not allowed', { Allow: allow.join(', ') }),
  tooMany: (seconds: number) => refusal(429, 'Too many requests', { 'Retry-After': String(seconds) }),
  tooLarge: refusal(413, 'Payload too large'),
  slow: refusal(408, 'Request timeout'),
  badEncoding: refusal(415, 'Unsupported content encoding'),
  unavailable: refusal(503, 'Service unavailable', { 'Retry-After': '5' }),
};

/** Thrown to answer early. */
export class Refused extends Error {
  override name = 'Refused';
  readonly answer: WebhookResponse;
  /** What is counted; null: nothing, the webhook is not known. */
  readonly reason: RefusalReason | null;

  constructor(answer: WebhookResponse, reason: RefusalReason | null) {
    super(reason ?? 'refused');
    this.answer = answer;
    this.reason = reason;
  }
}

/** What is answered to a body that could not be read. */
export const refusedBodies: Record<BodyFault, () => Refused> = {
  too_large: () => new Refused(webhookResponses.tooLarge, 'too_large'),
  no_memory: () => new Refused(webhookResponses.unavailable, 'unavailable'),
  slow: () => new Refused(webhookResponses.slow, 'timeout'),
  gone: () => new Refused(webhookResponses.slow, 'timeout'),
};

const latestKept = 20;
/** Written so many milliseconds after the first: a flood of bad calls costs one statement a second. */
const patience = 1_000;
const mostTriggers = 10_000;

interface Noted {
  counts: Map<RefusalReason, number>;
  latest: Refusal[];
}

/** Notes refused calls per trigger: how many by reason, and the last 20, with nothing of what they said. */
export class Refusals {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #log: Log;
  #noted = new Map<string, Noted>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor({ orm, clock, log }: { orm: MikroORM; clock: Clock; log: Log }) {
    this.#orm = orm;
    this.#clock = clock;
    this.#log = log;
  }

  note(trigger: string, reason: RefusalReason, { method, address }: { method: string; address: string | null }): void {
    if (!this.#noted.has(trigger) && this.#noted.size >= mostTriggers) return;
    const noted = this.#noted.get(trigger) ?? { counts: new Map(), latest: [] };
    noted.counts.set(reason, (noted.counts.get(reason) ?? 0) + 1);
    const refusal = { at: this.#clock.now().toISOString(), reason, method: method.slice(0, 20), address };
    noted.latest = [refusal, ...noted.latest].slice(0, latestKept);
    this.#noted.set(trigger, noted);
    this.#timer ??= setTimeout(() => void this.flush(), patience).unref();
  }

  /** Writes what was noted. What cannot be written is lost, and said in the log. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const noted = this.#noted;
    this.#noted = new Map();
    this.#writing = this.#writing.then(async () => {
      for (const [trigger, added] of [...noted].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        await this.#write(trigger, added).catch((err: unknown) =>
          this.#log.warn({ err, trigger }, 'refused calls of a webhook were not counted'),
        );
      }
    });
    return this.#writing;
  }

  async #write(trigger_id: string, { counts, latest }: Noted): Promise<void> {
    await this.#orm.em.fork().transactional(async (em) => {
      const insert = `insert into workflow_refusal (trigger_id, counts, latest)
        select id, '{}', '[]' from workflow_trigger where id = ? on conflict do nothing`;
      await em.execute(insert, [trigger_id]);
      await em.execute('select 1 from workflow_refusal where trigger_id = ? for update', [trigger_id]);
      const row = await em.findOne(WorkflowRefusal, { trigger_id });
      if (!row) return;
      const sums = { ...row.counts };
      for (const [reason, count] of counts) sums[reason] = (sums[reason] ?? 0) + count;
      row.counts = sums;
      row.latest = [...latest, ...row.latest].slice(0, latestKept);
    });
  }
}
