import type { Services } from '../../services.ts';
import type { DoorTrigger, TriggerCache } from '../triggers/trigger-cache.ts';
import { type HeadProof, proveHead } from './authenticate.ts';
import { doorAnswers, Refused } from './refusals.ts';
import { type ClearSecrets, clearSecretsOf } from './secret-retention.ts';
import type { WebhookCall } from './webhook-call.ts';

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A call whose head is good: whom it is for, and what it proves or still has to prove. */
export interface OpenedCall extends ClearSecrets {
  trigger: DoorTrigger;
  proof: HeadProof;
}

/** @throws Refused when no workflow of that name has a webhook */
export async function findCalled(triggers: TriggerCache, { workflow }: WebhookCall): Promise<DoorTrigger> {
  const trigger = idForm.test(workflow) ? await triggers.get(workflow) : null;
  if (!trigger) throw new Refused(doorAnswers.notConfigured, null);
  return trigger;
}

/**
 * Everything that is known before the body is read.
 * @throws Refused; DomainError `unavailable` when a secret cannot be read
 */
export async function openCall(
  services: Pick<Services, 'secrets' | 'clock'>,
  call: WebhookCall,
  trigger: DoorTrigger,
): Promise<OpenedCall> {
  if (!trigger.enabled) throw new Refused(doorAnswers.notConfigured, 'disabled');
  const clear = await clearSecretsOf(services, trigger, services.clock.now());
  const proof = proveHead(trigger, clear.secrets, call);
  if ('version' in proof) return { ...clear, trigger, proof };
  throw new Refused(proof.allow ? doorAnswers.methodNotAllowed(proof.allow) : doorAnswers.unauthorized, proof.reason);
}
