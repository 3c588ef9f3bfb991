import { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import { locateDeployment } from '../deployments/deployment-record.ts';
import { deploymentNumber } from '../deployments/deployments.schema.ts';
import { locateEnvironment } from '../environments/environment-record.ts';
import { environmentNumber } from '../environments/environments.schema.ts';
import { studioOperation } from '../studio-operation.ts';
import { memberLink, previewLink, publicLink } from './preview-link.ts';
import { deploymentLabel, environmentLabel } from './previews.ts';
import { parseRequestPath } from './request-path.ts';

const path = z
  .string()
  .max(8_192, 'must be at most 8192 characters')
  .default('/')
  .describe('Path and query on the site');

/** @throws DomainError `invalid_path` for what is no path of a site */
function checkPath(text: string): void {
  if (parseRequestPath(text) === null) throw fieldError('invalid_path', 'path', 'must be a path such as /blog/hello/');
}

export const getEnvironmentPreview = studioOperation({
  name: 'studio.getEnvironmentPreview',
  kind: 'query',
  permission: 'browse_studio',
  singleUse: true,
  summary: 'Get an address that opens what an environment publishes; null when it publishes nothing here',
  input: z.object({ ...environmentNumber, path }),
  output: previewLink.nullable(),
  async execute(context, { environment, path }) {
    checkPath(path);
    const row = await locateEnvironment(context, environment);
    if (!row.published_deployment_id || row.provider === 'webhook') return null;
    const label = environmentLabel(row);
    return row.visibility === 'members' ? memberLink(context, label, path) : publicLink(context.services, label, path);
  },
});

export const getDeploymentPreview = studioOperation({
  name: 'studio.getDeploymentPreview',
  kind: 'query',
  permission: 'browse_studio',
  singleUse: true,
  summary: 'Get an address that opens the output of a deployment, for members only; null when it is no longer stored',
  input: z.object({ ...deploymentNumber, path }),
  output: previewLink.nullable(),
  async execute(context, { deployment, path }) {
    checkPath(path);
    const { id, manifest_sha256 } = await locateDeployment(context, deployment);
    return manifest_sha256 ? memberLink(context, deploymentLabel(id), path) : null;
  },
});

export const getDeploymentEditor = studioOperation({
  name: 'studio.getDeploymentEditor',
  kind: 'query',
  permission: 'edit_studio',
  singleUse: true,
  summary:
    'Get an address that opens the output of a deployment so that its pages can be edited in a frame of the dashboard',
  input: z.object({ ...deploymentNumber, path }),
  output: previewLink.nullable(),
  async execute(context, { deployment, path }) {
    checkPath(path);
    const { id, manifest_sha256 } = await locateDeployment(context, deployment);
    return manifest_sha256 ? memberLink(context, deploymentLabel(id), path, 'edit') : null;
  },
});
