import type { Services } from '../../services.ts';
import { isInGrace, openSecrets } from '../triggers/sealed-secret.ts';
import type { DoorTrigger } from '../triggers/trigger-cache.ts';
import { secretFinder } from './call/redact.ts';
import type { TriggerSecret } from './prove.ts';

/** The secrets of a webhook as they are, and what finds them in a text. */
export interface ClearSecrets {
  secrets: readonly TriggerSecret[];
  holdsSecret(text: string): boolean;
}

interface Known {
  isInGrace: boolean;
  clear: Promise<ClearSecrets>;
}

/** As long as the cache keeps the trigger they belong to: half a minute, and never beyond a change of it. */
const known = new WeakMap<DoorTrigger, Known>();

/**
 * The secrets that open a webhook now. Opened once for each time its row is read, not once for each call.
 * @throws DomainError `unavailable` when one of them cannot be read
 */
export function clearSecretsOf(
  services: Pick<Services, 'secrets'>,
  trigger: DoorTrigger,
  now: Date,
): Promise<ClearSecrets> {
  const inGrace = isInGrace(trigger, now);
  const kept = known.get(trigger);
  if (kept?.isInGrace === inGrace) return kept.clear;
  const clear = openSecrets(services, trigger.organization_id, trigger, now).then((secrets) => ({
    secrets,
    holdsSecret: secretFinder(secrets.map(({ value }) => value)),
  }));
  known.set(trigger, { isInGrace: inGrace, clear });
  clear.catch(() => known.delete(trigger));
  return clear;
}
