import type { Services } from '../../../services.ts';
import type { Warning } from '../../schema/schema.schema.ts';
import { cleanLine } from '../log/clean-text.ts';
import type { Attempt } from '../transitions.ts';
import type { JobRun } from './job-run.ts';
import type { Run } from './stage.ts';

/** Names that one notice lists. */
const mostListed = 20;

/** Tells of what nothing fails for: a line of the job's log, and a warning of the deployment. Nothing is told of no names. */
export function notice(run: Run, job: JobRun, code: string, what: string, names: readonly string[]): void {
  if (names.length === 0) return;
  const more = names.length > mostListed ? ` and ${names.length - mostListed} more` : '';
  // A name may hold whatever a file system lets through.
  const message = cleanLine(`${what}: ${names.slice(0, mostListed).join(', ')}${more}`);
  job.log.line(message);
  run.warnings.push({ code, message: run.mask(message) });
}

/** Keeps what was noticed, of a deployment that fails later too. */
export async function keepWarnings(
  { orm }: Pick<Services, 'orm'>,
  { id, attempt }: Attempt,
  warnings: readonly Warning[],
): Promise<void> {
  const sql = `update deployment set warnings = ?::json where id = ? and attempt = ? and status = 'in_progress'`;
  if (warnings.length > 0) await orm.em.fork().execute(sql, [JSON.stringify(warnings), id, attempt]);
}
