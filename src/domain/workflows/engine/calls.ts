import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { parseDuration } from '../definition/duration.ts';
import type { StepWait } from '../executions/step-run.entity.ts';
import { typeOf } from '../step-types.ts';
import type { Acting, Step, StepCall, StepError, StepResult } from '../steps/step-type.ts';

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
