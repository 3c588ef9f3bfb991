import type { Sha256 } from '../../../../ports/blobs.ts';
import type { Workspace } from '../../../../ports/deployer.ts';
import type { Repository } from '../../../../ports/git.ts';
import type { ProjectRef } from '../../../projects/project.entity.ts';
import type { OpenVariable } from '../../environments/environment-secrets.ts';
import type { Warning } from '../../schema/schema.schema.ts';
import type { StudioServices } from '../../studio.ts';
import type { Deployment, FailureReason } from '../deployment.entity.ts';
import type { Mask } from '../job-log.ts';
import type { JobRun } from './job-run.ts';

/** What the stages of one attempt share. */
export interface Run {
  services: StudioServices;
  project: ProjectRef;
  git: Repository;
  row: Deployment;
  environment: { name: string; url: string; isDraftPreview: boolean };
  variables: readonly OpenVariable[];
  /** Without the values of secret variables. */
  mask: Mask;
  /** Warnings of the deployment. */
  warnings: Warning[];
  /** When it has to be done, milliseconds since the epoch. */
  deadline: number;
  signal: AbortSignal;
  /** Keeps the leader of the process group that runs now, so that a later worker can end it. */
  onCommand: Parameters<Workspace['run']>[0]['onStart'];
}

/** An attempt that runs code of the repository. */
export interface WorkspaceRun extends Run {
  workspace: Workspace;
}

/** Does the work of one job. @throws StageFailure */
export type Stage = (run: WorkspaceRun, job: JobRun) => Promise<void>;

/** How the jobs of one attempt are done: the stages by name, and the last, which keeps what is to be published and gives its digest. */
export interface Work {
  stages: Readonly<Record<string, (job: JobRun) => Promise<void>>>;
  keep(job: JobRun): Promise<Sha256>;
}

/** Why a deployment fails, in words for its log. */
export class StageFailure extends Error {
  override name = 'StageFailure';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
