import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { checksum62, random62 } from '../../../lib/ids.ts';
import type { WorkflowTrigger } from './trigger.entity.ts';

const letters = 40;

/**
 * A new secret of a webhook trigger: `whk_`, 40 random characters of base62 (238 bits) and their checksum. It holds nothing that a URL would
 * escape, and its prefix is not one that clients take for base64.
 */
export function newTriggerSecret(): string {
  const text = `whk_${random62(letters)}`;
  return `${text}${checksum62(text)}`;
}

const purpose = 'workflow.trigger';

/** A secret that opens a trigger now: the current one, or the one before within its grace. */
export interface TriggerSecret {
  version: number;
  value: string;
}

/** What of a trigger its secrets are opened with. */
export type SealedSecrets = Pick<
  WorkflowTrigger,
  'id' | 'secret' | 'secret_version' | 'previous_secret' | 'previous_secret_version' | 'previous_secret_expires_at'
>;

type Needs = Pick<Services, 'secrets'>;

/** @returns the ciphertext of one version of a trigger's secret */
export const sealSecret = (
  { secrets }: Needs,
  organization: number,
  trigger: string,
  version: number,
  secret: string,
): Promise<string> => secrets.encrypt(organization, purpose, trigger, version, secret);

/** The current secret. @throws DomainError `unavailable` */
export function openSecret(
  { secrets }: Needs,
  organization: number,
  { id, secret, secret_version }: Pick<SealedSecrets, 'id' | 'secret' | 'secret_version'>,
): Promise<string> | null {
  return secret == null ? null : secrets.decrypt(organization, purpose, id, secret_version, secret);
}

/** Whether the previous secret is good beside the current one. */
export const isInGrace = ({ previous_secret, previous_secret_expires_at: until }: SealedSecrets, now: Date): boolean =>
  previous_secret != null && until != null && until > now;

/**
 * The secrets that open a trigger now, the current one first; none when it is revoked.
 * @throws DomainError `unavailable` when one of them cannot be read
 */
export async function openSecrets(
  services: Needs,
  organization: number,
  trigger: SealedSecrets,
  now: Date,
): Promise<TriggerSecret[]> {
  const found: TriggerSecret[] = [];
  const current = await openSecret(services, organization, trigger);
  if (current !== null) found.push({ version: trigger.secret_version, value: current });
  const { id, previous_secret, previous_secret_version: version } = trigger;
  if (previous_secret != null && version != null && isInGrace(trigger, now))
    found.push({ version, value: await services.secrets.decrypt(organization, purpose, id, version, previous_secret) });
  return found;
}

/** The state of a webhook's secret in answers. A key service that is away leaves it unknown. */
export async function secretStateOf(
  services: Needs,
  organization: number,
  trigger: SealedSecrets,
  now: Date,
): Promise<'set' | 'grace' | 'revoked' | 'unreadable'> {
  const state = isInGrace(trigger, now) ? 'grace' : 'set';
  try {
    const secrets = await openSecrets(services, organization, trigger, now);
    return secrets.length === 0 ? 'revoked' : state;
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'unavailable') throw error;
    return error.details?.reason === undefined || error.details.reason === 'unavailable' ? state : 'unreadable';
  }
}
