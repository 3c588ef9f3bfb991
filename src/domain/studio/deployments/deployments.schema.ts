import { z } from 'zod';
import { storedText, timestamp, webUrl } from '../../../kernel/shapes.ts';
import { isolationLevels } from '../../../ports/deployer.ts';
import { studioWarning } from '../schema/schema.schema.ts';
import { conclusions, failureReasons, statuses, triggers } from './deployment.entity.ts';

export const deploymentStatus = z.enum(statuses).meta({ id: 'DeploymentStatus' });
export const deploymentConclusion = z.enum(conclusions).meta({ id: 'DeploymentConclusion' });

const progress = {
  status: deploymentStatus,
  conclusion: deploymentConclusion.nullable().describe('Null until it is completed'),
  started_at: timestamp.nullable(),
  completed_at: timestamp.nullable(),
};

const step = z
  .object({ number: z.int32(), name: z.string(), ...progress, exit_code: z.int32().nullable() })
  .meta({ id: 'DeploymentStep' });

export const deploymentJob = z
  .object({
    id: z.int32(),
    name: z.string(),
    ...progress,
    log_url: z.string().nullable(),
    steps: z.array(step),
  })
  .meta({ id: 'DeploymentJob' });

export const deployment = z
  .object({
    id: z.int32(),
    run_number: z.int32().describe('Counts per project'),
    environment: z.object({ id: z.int32(), name: z.string() }).meta({ id: 'DeploymentEnvironment' }),
    branch: z.string(),
    commit_sha: z.string(),
    title: z.string().describe("First line of the commit's message"),
    ...progress,
    failure_reason: z.enum(failureReasons).nullable(),
    published: z.boolean().describe('Whether it is what the environment shows now'),
    isolation: z.enum(isolationLevels).nullable().describe('How its commands were kept apart from the server'),
    isolation_reason: z
      .string()
      .nullable()
      .describe('Why it was that level and no stronger one; or why nothing was built'),
    url: z.string().nullable().describe('Where exactly this deployment can be seen'),
    log_url: z.string().nullable(),
    trigger: z.enum(triggers),
    attempt: z.int32(),
    output_digest: z.string().nullable().describe('SHA-256 of what it published: equal outputs have equal digests'),
    warnings: z
      .array(studioWarning)
      .describe('What was left out or is not used, though nothing failed; also in the log'),
    created_at: timestamp,
    duration_ms: z.int32().nullable(),
    jobs: z.array(deploymentJob),
  })
  .meta({ id: 'Deployment' });

/** An item of a list: its jobs are read by its id. */
export const deploymentSummary = deployment.omit({ jobs: true }).meta({ id: 'DeploymentSummary' });

/** Addresses a deployment: `{runId}` of the documented interface. */
export const deploymentNumber = { deployment: z.int32().min(1, 'must be at least 1') };

/** Bytes that the jobs of a deployment hold together: lists show a hundred deployments. */
export const mostOfJobs = 256 * 1024;

const reportedState = {
  status: deploymentStatus.optional(),
  conclusion: deploymentConclusion.optional(),
};

/** What an external provider says of a deployment. */
export const deploymentReport = z.object({
  ...deploymentNumber,
  ...reportedState,
  url: webUrl.optional(),
  log_url: webUrl.optional(),
  jobs: z
    .array(
      z
        .object({
          name: storedText(200).min(1, 'must not be empty'),
          ...reportedState,
          log_url: webUrl.optional(),
          steps: z
            .array(
              z
                .object({ name: storedText(200), ...reportedState, exit_code: z.int32().optional() })
                .meta({ id: 'ReportedStep' }),
            )
            .max(100, 'must be at most 100')
            .default([]),
        })
        .meta({ id: 'ReportedJob' }),
    )
    .max(50, 'must be at most 50')
    .optional()
    .describe(`All jobs with their steps hold at most ${mostOfJobs / 1024} KiB`),
});
