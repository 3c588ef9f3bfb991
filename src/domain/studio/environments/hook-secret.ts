import { newWebhookSecret } from '../../notifications/webhook-secret.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Services } from '../../services.ts';

type Owner = Pick<ProjectRef, 'organization_id'>;

/** What notifications to an external provider are signed with. */
export const newHookSecret = newWebhookSecret;

/** One secret for the life of an environment, so its version stays 1. */
export const sealHookSecret = ({ secrets }: Pick<Services, 'secrets'>, owner: Owner, uuid: string, secret: string) =>
  secrets.encrypt(owner.organization_id, 'deploy.hook', uuid, 1, secret);

/** @throws DomainError `unavailable` when it cannot be read */
export const openHookSecret = ({ secrets }: Pick<Services, 'secrets'>, owner: Owner, uuid: string, sealed: string) =>
  secrets.decrypt(owner.organization_id, 'deploy.hook', uuid, 1, sealed);
