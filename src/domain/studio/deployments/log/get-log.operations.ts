import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { projectOperation } from '../../../operation.ts';
import { DeploymentJob } from '../deployment.entity.ts';
import { findDeployment } from '../deployment-record.ts';
import { deploymentNumber } from '../deployments.schema.ts';
import { readLog } from './read-log.ts';

export const logPart = z
  .object({
    offset: z.int().min(0),
    next_offset: z.int().min(0).describe('Where to go on'),
    text: z.string(),
    complete: z.boolean().describe('The job has ended and the log is complete'),
  })
  .meta({ id: 'DeploymentLogPart' });

export const getDeploymentLog = projectOperation({
  name: 'studio.getDeploymentLog',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Read the log of a deployment job from an offset',
  input: z.object({
    ...deploymentNumber,
    job: z.int32().min(1, 'must be at least 1').describe('Id of the job'),
    offset: z.int().min(0, 'must be at least 0').default(0).describe('Bytes to skip'),
  }),
  output: logPart,
  async execute(context, { deployment, job, offset }) {
    const { id } = await findDeployment(context, deployment);
    const row = await context.em.findOne(DeploymentJob, { id: job, deployment_id: id });
    if (!row) throw new DomainError('not_found', `job: deployment ${id} has no job ${job}`);
    const part = await readLog(context.em, row, offset);
    context.attach(Buffer.from(part.text));
    return part;
  },
});
