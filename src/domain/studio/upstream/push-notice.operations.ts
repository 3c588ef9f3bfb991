import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { publicOperation } from '../../operation.ts';
import { resolveOrganization } from '../../organizations/resolve-organization.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { resolveProject } from '../../projects/resolve-project.ts';
import type { Services } from '../../services.ts';
import { Upstream } from './upstream.entity.ts';
import { openHookSecret } from './upstream-secrets.ts';

/** Whether `sha256=<hex>` is the HMAC-SHA-256 (RFC 2104) of a body, in the time a comparison of equals takes. */
function isSigned(body: Uint8Array, secret: string, signature: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

interface Names {
  organization: string;
  project: string;
}

/** The project that names stand for, if it has an upstream, and what its notices are signed with. */
async function upstreamNamed(
  services: Services,
  em: EntityManager,
  names: Names,
): Promise<{ project: ProjectRef; secret: string } | null> {
  try {
    const organization = await resolveOrganization(services, () => em, names.organization);
    const project = await resolveProject(services, () => em, organization, names.project);
    const row = await em.findOne(Upstream, project.id);
    return row && { project, secret: await openHookSecret(services, project, row) };
  } catch (error) {
    if (error instanceof DomainError && ['not_found', 'invalid_request'].includes(error.code)) return null;
    throw error;
  }
}

/** Strangers learn from no answer which projects there are: for names of nothing a secret nobody has stands in. */
const nobodysSecret = randomBytes(32).toString('base64url');

export const noticePush = publicOperation({
  name: 'studio.noticePush',
  kind: 'command',
  effect: 'external',
  permission: 'public',
  summary: 'Receive a push notice of the upstream, signed by X-Hub-Signature-256; its content is ignored',
  input: z.object({ organization: z.string(), project: z.string() }),
  output: z.object({ accepted: z.literal(true) }),
  audit: ({ project }) => ({ type: 'repository', id: project }),
  async execute({ em, services, signed }, names) {
    const stranger = new DomainError(
      'unauthenticated',
      'X-Hub-Signature-256: does not fit the secret of this upstream',
    );
    if (!signed?.signature) throw stranger;
    const found = await upstreamNamed(services, em, names);
    if (!isSigned(signed.body, found?.secret ?? nobodysSecret, signed.signature) || !found) throw stranger;
    services.upstreams.notice(services, found.project);
    return { accepted: true as const };
  },
});
