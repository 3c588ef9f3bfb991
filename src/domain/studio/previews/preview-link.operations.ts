import { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { authenticateHolder } from '../../identity/authenticate.ts';
import { projectOperation } from '../../operation.ts';
import { timestamp } from '../../shapes.ts';
import { findDeployment } from '../deployments/deployment-record.ts';
import { findEnvironment } from '../environments/environment-record.ts';
import { environmentNumber } from '../environments/environments.schema.ts';
import { makePass } from './preview-access.ts';
import { deploymentLabel, environmentLabel, labelUrl } from './preview-label.ts';
import { isTrustworthy } from './preview-origin.ts';
import { linkParameter, passSeconds } from './preview-pass.ts';
import { parseRequestPath } from './request-path.ts';

const previewLink = z
  .object({
    url: z.string().describe('Opens the page; each tab and each frame needs a link of its own'),
    expires_at: timestamp.nullable().describe('Until when it opens; null where no link is needed'),
    embeddable: z.boolean().describe('It may stand in a frame of the dashboard'),
  })
  .meta({ id: 'PreviewLink' });

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
    const url = labelUrl(services.settings, place.label) + path;
    const embeddable = isTrustworthy(services.settings.preview_url);
    if (!place.isMembersOnly) return { url, expires_at: null, embeddable };
    // A pass is looked at again with every request, so it must be for someone whose rights can be found again.
    if ((await authenticateHolder(services, actor.id)) === null)
      throw new DomainError('forbidden', 'Only a token or a person can be given a link to a members’ preview');
    const pass = await makePass(services, 'link', place.label, actor.id);
    const expires_at = new Date(services.clock.now().getTime() + passSeconds.link * 1000);
    return { url: `${url}${path.includes('?') ? '&' : '?'}${linkParameter}=${pass}`, expires_at, embeddable };
  },
});
