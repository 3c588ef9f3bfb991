import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findPage, pageInput, pageOf } from '../../paging.ts';
import { Environment } from './environment.entity.ts';
import { environmentRecord, environmentRecords, findEnvironment } from './environment-record.ts';
import { environment, environmentNumber } from './environments.schema.ts';

export const listEnvironments = projectOperation({
  name: 'studio.listEnvironments',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List environments',
  input: z.object({
    ...pageInput,
    branch: z.string().max(1000).optional().describe('Only those that publish this branch'),
  }),
  output: pageOf(environment),
  async execute(context, { branch, ...paging }) {
    const { em, project } = context;
    const { rows, asPage } = await findPage(
      em,
      paging,
      Environment,
      { project_id: project.id, ...(branch !== undefined && { branch }) },
      { orderBy: { id: 'asc' } },
    );
    return asPage(await environmentRecords(context, rows));
  },
});

export const getEnvironment = projectOperation({
  name: 'studio.getEnvironment',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Get one environment',
  input: z.object(environmentNumber),
  output: environment,
  async execute(context, input) {
    return environmentRecord(context, await findEnvironment(context, input.environment));
  },
});
