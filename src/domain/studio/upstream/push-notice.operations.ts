import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { publicOperation } from '../../operation.ts';
import { resolveOrganization } from '../../organizations/resolve-organization.ts';
import { resolveProject } from '../../projects/resolve-project.ts';
import { Upstream } from './upstream.entity.ts';
import { openHookSecret } from './upstream-secrets.ts';

/** Whether `sha256=<hex>` is the HMAC-SHA-256 (RFC 2104) of a body, in the time a comparison of equals takes. */
function isSigned(body: Uint8Array, secret: string, signature: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export const noticePush = publicOperation({
  name: 'studio.noticePush',
  kind: 'command',
  effect: 'external',
  permission: 'public',
  summary: 'Hear from the upstream that it has moved; signed by X-Hub-Signature-256, whatever the content',
  input: z.object({ organization: z.string(), project: z.string() }),
  output: z.object({ accepted: z.literal(true) }),
  audit: ({ project }) => ({ type: 'repository', id: project }),
  async execute({ em, services, signed }, names) {
    const stranger = new DomainError(
      'unauthenticated',
      'X-Hub-Signature-256: does not fit the secret of this upstream',
    );
    if (!signed?.signature) throw stranger;
    const organization = await resolveOrganization(services, () => em, names.organization);
    const project = await resolveProject(services, () => em, organization, names.project);
    const row = await em.findOne(Upstream, project.id);
    if (!row || !isSigned(signed.body, await openHookSecret(services, project, row), signed.signature)) throw stranger;
    services.upstreams.notice(services, project);
    return { accepted: true as const };
  },
});
