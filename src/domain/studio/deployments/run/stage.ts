import type { Workspace } from '../../../ports/deployer.ts';
import type { Repository } from '../../../ports/git.ts';
import type { ProjectRef } from '../../../projects/project.entity.ts';
import type { Services } from '../../../services.ts';
import type { OpenVariable } from '../../environments/variables.ts';
import type { Deployment, FailureReason } from '../deployment.entity.ts';
import type { JobRun } from './job-run.ts';

/** What the stages of one attempt share. */
export interface Run {
  services: Services;
  project: ProjectRef;
  git: Repository;
  row: Deployment;
  environment: { name: string; url: string };
  workspace: Workspace;
  variables: readonly OpenVariable[];
  /** When it has to be done, milliseconds since the epoch. */
  deadline: number;
  signal: AbortSignal;
  /** Keeps the leader of the process group that runs now, so that a later worker can end it. */
  onCommand: Parameters<Workspace['run']>[0]['onStart'];
}

/** Does the work of one job. @throws StageFailure */
export type Stage = (run: Run, job: JobRun) => Promise<void>;

/** Why a deployment fails, in words for its log. */
export class StageFailure extends Error {
  override name = 'StageFailure';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
