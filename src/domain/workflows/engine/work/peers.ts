import type { EntityManager } from '@mikro-orm/postgresql';
import type { StepWait } from '../../executions/step-run.entity.ts';
import type { StepError } from '../../steps/step-call.ts';

/** What became of a crawl run or a deployment a step waits for; null: it goes on. */
export type PeerEnd = { output: object } | { error: StepError } | null;

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
