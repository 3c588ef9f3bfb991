import type { Services } from '../../../../kernel/services.ts';
import type { Warning } from '../../schema/schema.schema.ts';
import type { StudioServices } from '../../studio.ts';
import type { Conclusion, DeploymentJob, DeploymentStep } from '../deployment.entity.ts';
import { cleanLine, JobLog, type Mask } from '../job-log.ts';
import type { Attempt } from '../transitions.ts';
import type { Run } from './stage.ts';

/** Names that one notice lists. */
const mostListed = 20;

/** Adds a warning that fails nothing: a line of the job's log, and one of the deployment's warnings. Without names nothing is added. */
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

/** One job of a deployment while it runs: its steps, and its log. */
export class JobRun {
  readonly log: JobLog;
  readonly #services: Pick<StudioServices, 'orm' | 'studio' | 'log' | 'clock'>;
  readonly #job: Pick<DeploymentJob, 'id' | 'deployment_id'>;
  readonly #steps: DeploymentStep[] = [];

  constructor(
    services: Pick<StudioServices, 'orm' | 'studio' | 'log' | 'clock'>,
    job: Pick<DeploymentJob, 'id' | 'deployment_id'>,
    mask: Mask,
  ) {
    this.#services = services;
    this.#job = job;
    this.log = new JobLog(services, { deployment: job.deployment_id, job: job.id }, mask);
  }

  async begin(): Promise<void> {
    await this.#set(`status = 'in_progress', started_at = ?`, [this.#services.clock.now()], 'queued');
  }

  /** Runs a step; one that throws has failed, and the job is left for the end of the deployment to conclude. */
  async step<T>(name: string, work: (step: DeploymentStep) => Promise<T>): Promise<T> {
    const { clock } = this.#services;
    const step: DeploymentStep = {
      number: this.#steps.length + 1,
      name,
      status: 'in_progress',
      conclusion: null,
      started_at: clock.now().toISOString(),
      completed_at: null,
      exit_code: null,
    };
    this.#steps.push(step);
    await this.#store();
    try {
      const result = await work(step);
      Object.assign(step, { status: 'completed', conclusion: 'success', completed_at: clock.now().toISOString() });
      return result;
    } finally {
      await this.#store();
    }
  }

  async end(conclusion: Conclusion): Promise<void> {
    await this.log.close();
    const values = [conclusion, this.#services.clock.now()];
    await this.#set(`status = 'completed', conclusion = ?, completed_at = ?`, values, 'in_progress');
  }

  #store(): Promise<void> {
    return this.#set('steps = ?::json', [JSON.stringify(this.#steps)], 'in_progress');
  }

  /** Of an attempt that was given up the job is gone, and nothing changes. */
  async #set(assignments: string, values: unknown[], from: string): Promise<void> {
    const sql = `update deployment_job set ${assignments} where id = ? and status = ?`;
    await this.#services.orm.em.fork().execute(sql, [...values, this.#job.id, from]);
  }
}
