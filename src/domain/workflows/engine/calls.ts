import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { parseDuration } from '../definition/duration.ts';
import type { StepWait } from '../executions/step-run.entity.ts';
import { typeOf } from '../step-types.ts';
import type { Acting, Step, StepCall, StepError, StepResult } from '../steps/step-type.ts';

/** Who has a step that acts. */
export interface Caller {
  workflow_id: string;
  organization_id: number;
}

interface Waiting {
  caller: Caller;
  begin(): void;
}

/**
 * Of all slots one workflow may have half, one organisation three quarters, so that slow peers of theirs keep no other waiting. Of what an
 * organisation and a process may have, an eighth of all slots is reserved for workflows of which no call is running: one more workflow need not wait
 * for the slow calls of two others.
 */
const shares = { workflow: 1 / 2, organization: 3 / 4, reserve: 1 / 8 };

/**
 * Steps of a process that act at the same time: so many at once, the others wait. Slots go round robin among workflows, and each one's steps come in their
 * order.
 */
export class CallSlots {
  readonly #most: number;
  #taken = 0;
  readonly #byWorkflow = new Map<string, number>();
  readonly #byOrganization = new Map<number, number>();
  /** By workflow; the one that is first comes next. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Does a caller's work as soon as there is a slot for it. */
  async run<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    if (this.#fits(caller)) this.#count(caller, 1);
    else await new Promise<void>((begin) => this.#enqueue({ caller, begin }));
    try {
      return await work();
    } finally {
      this.#count(caller, -1);
      this.#letIn();
    }
  }

  #fits({ workflow_id, organization_id }: Caller): boolean {
    const most = (share: number) => Math.max(Math.floor(this.#most * share), 1);
    const running = this.#byWorkflow.get(workflow_id) ?? 0;
    const reserved = running === 0 ? 0 : Math.floor(this.#most * shares.reserve);
    return (
      this.#taken < this.#most - reserved &&
      running < most(shares.workflow) &&
      (this.#byOrganization.get(organization_id) ?? 0) < most(shares.organization) - reserved
    );
  }

  #count({ workflow_id, organization_id }: Caller, by: 1 | -1): void {
    this.#taken += by;
    add(this.#byWorkflow, workflow_id, by);
    add(this.#byOrganization, organization_id, by);
  }

  #enqueue(waiting: Waiting): void {
    const { workflow_id } = waiting.caller;
    const queue = this.#waiting.get(workflow_id);
    if (queue) queue.push(waiting);
    else this.#waiting.set(workflow_id, [waiting]);
  }

  #letIn(): void {
    for (const [workflow, queue] of [...this.#waiting]) {
      const [next] = queue;
      if (next === undefined || !this.#fits(next.caller)) continue;
      queue.shift();
      // To the end of the round.
      this.#waiting.delete(workflow);
      if (queue.length > 0) this.#waiting.set(workflow, queue);
      this.#count(next.caller, 1);
      next.begin();
    }
  }
}

function add<K>(counts: Map<K, number>, key: K, by: number): void {
  const sum = (counts.get(key) ?? 0) + by;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}

/** What became of a crawl run or a deployment a step waits for; null: it goes on. */
type PeerEnd = { output: object } | { error: StepError } | null;

const runSql = `
  select id, status, finish_reason, finish_message, snapshot_id, completed_at from crawler_run where id = ?`;
const deploymentSql = 'select id, coalesce(conclusion, status) as status, completed_at from deployment where id = ?';

interface PeerRow {
  id: number;
  status: string;
  finish_message?: string | null;
  completed_at: string | Date | null;
}

const good = new Set(['completed', 'stopped', 'success']);
const bad = new Set(['failed', 'canceled', 'failure', 'cancelled', 'skipped']);

/** Asks what became of what a step waits for. */
export async function peerEnd(em: EntityManager, { kind, id }: StepWait): Promise<PeerEnd> {
  if (kind === 'input' || id === undefined) return null;
  const [row] = await em.execute<PeerRow[]>(kind === 'run' ? runSql : deploymentSql, [id]);
  const what = kind === 'run' ? 'crawl run' : 'deployment';
  if (!row) return { error: { code: 'not_found', message: `The ${what} ${id} is not there any more` } };
  const completed_at = row.completed_at && new Date(row.completed_at).toISOString();
  if (good.has(row.status)) return { output: { ...row, completed_at } };
  if (!bad.has(row.status)) return null;
  const message = `The ${what} ${id} ended as ${row.status}${row.finish_message ? `: ${row.finish_message}` : ''}`;
  return { error: { code: `${kind}_${row.status}`, message, [kind]: id } };
}

const usualDelay = 1_000;
const usualFactor = 2;
const mostDelay = 300_000;
/** A peer may require more time than steps give themselves. */
const longestRetryAfter = 3_600_000;

interface Failure {
  error: StepError;
  isRetryable: boolean;
  /** Milliseconds the peer asks to wait. */
  retryAfter?: number;
}

/**
 * How long a failed step waits before its next try: a random share of a delay that grows with each try, and at least what the peer requires.
 * @param tries made so far
 * @param random from 0 to 1
 * @returns milliseconds; null: there is no further try
 */
export function retryDelay(step: Step, tries: number, failure: Failure, random: number): number | null {
  const {
    attempts = typeOf(step).acting?.attempts(step) ?? 1,
    delay,
    factor = usualFactor,
    max_delay,
    on,
  } = step.retry ?? {};
  const counts = failure.isRetryable && (on === undefined || on.includes(failure.error.code));
  if (!counts || tries >= attempts) return null;
  const first = parseDuration(delay) ?? usualDelay;
  const most = parseDuration(max_delay) ?? mostDelay;
  const wait = Math.min(first * factor ** (tries - 1), most) * random;
  return Math.round(Math.max(wait, Math.min(failure.retryAfter ?? 0, longestRetryAfter)));
}

/**
 * Equal over tries and drivers, and for no other step run.
 * @param tried_in the execution in which the step was first tried: of a step that a crash cut off, an earlier one than that which runs now
 */
export const idempotencyKey = (tried_in: string, path: string): string =>
  createHash('sha256').update(`${tried_in}|${path}|`).digest('hex');

const timedOut = (milliseconds: number): StepResult => ({
  kind: 'failed',
  error: { code: 'timeout', message: `The step took longer than ${milliseconds / 1000} s` },
  isRetryable: true,
});

/**
 * Has a step act, for as long as it may.
 * @returns how it ended; null when it was broken off from outside
 */
export async function callStep(call: Omit<StepCall, 'signal'>, signal: AbortSignal): Promise<StepResult | null> {
  const { step, services, execution_id, path } = call;
  const { act, limit: usual } = typeOf(step).acting as Acting<Step>;
  const limit = parseDuration(step.timeout) ?? usual;
  const late = AbortSignal.timeout(limit);
  try {
    const result = await act({ ...call, signal: AbortSignal.any([signal, late]) });
    return signal.aborted ? null : result;
  } catch (err) {
    if (signal.aborted) return null;
    if (late.aborted) return timedOut(limit);
    services.log.error({ err, execution: execution_id, path }, 'a step could not be executed');
    return {
      kind: 'failed',
      error: { code: 'internal', message: 'A fault of the server, see its log' },
      isRetryable: true,
    };
  }
}
