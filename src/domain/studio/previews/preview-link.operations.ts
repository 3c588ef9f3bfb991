import { z } from 'zod';
import { fieldError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { findDeployment } from '../deployments/deployment-record.ts';
import { findEnvironment } from '../environments/environment-record.ts';
import { environmentNumber } from '../environments/environments.schema.ts';
import { deploymentLabel, environmentLabel } from './preview-label.ts';
import { memberLink, previewLink, publicLink } from './preview-link.ts';
import { parseRequestPath } from './request-path.ts';

/** What a link leads to: a label, and whether only members see it. */
interface Place {
  label: string;
  isMembersOnly: boolean;
}

export const getPreviewLink = projectOperation({
  name: 'studio.getPreviewLink',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'An address that opens a published environment or a deployment; null when there is nothing to see',
  input: z.object({
    environment: environmentNumber.environment.optional(),
    deployment: environmentNumber.environment.optional(),
    path: z.string().max(8_192, 'must be at most 8192 characters').default('/').describe('Path and query on the site'),
  }),
  output: previewLink.nullable(),
  async execute(context, { environment, deployment, path }) {
    const { services, actor } = context;
    if (parseRequestPath(path) === null)
      throw fieldError('invalid_path', 'path', 'must be a path such as /blog/hello/');
    if ((environment === undefined) === (deployment === undefined))
      throw fieldError('invalid_request', 'environment', 'name either an environment or a deployment');
    const ofEnvironment = async (id: number): Promise<Place | null> => {
      const row = await findEnvironment(context, id);
      return row.published_deployment_id && row.provider !== 'webhook'
        ? { label: environmentLabel(row), isMembersOnly: row.visibility === 'members' }
        : null;
    };
    const ofDeployment = async (id: number): Promise<Place | null> => {
      const row = await findDeployment(context, id);
      return row.manifest_sha256 ? { label: deploymentLabel(row.id), isMembersOnly: true } : null;
    };
    const place = environment === undefined ? await ofDeployment(deployment ?? 0) : await ofEnvironment(environment);
    if (place === null) return null;
    return place.isMembersOnly
      ? memberLink(services, actor, place.label, path)
      : publicLink(services, place.label, path);
  },
});
