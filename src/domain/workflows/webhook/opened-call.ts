import type { Services } from '../../../kernel/services.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { TriggerCache, WebhookTrigger } from '../triggers/trigger-cache.ts';
import { type HeadProof, proveHead } from './authenticate.ts';
import { Refused, webhookResponses } from './refusals.ts';
import { type ClearSecrets, clearSecretsOf } from './secret-retention.ts';
import type { WebhookCall } from './webhook-call.ts';

/** A call whose head is good: whom it is for, and what it proves or still has to prove. */
export interface OpenedCall extends ClearSecrets {
  trigger: WebhookTrigger;
  proof: HeadProof;
}

/** @throws Refused when no workflow of that name has a webhook */
export async function findTrigger(triggers: TriggerCache, { workflow }: WebhookCall): Promise<WebhookTrigger> {
  const trigger = isUuid(workflow) ? await triggers.get(workflow) : null;
  if (!trigger) throw new Refused(webhookResponses.notConfigured, null);
  return trigger;
}

/**
 * Everything that is known before the body is read.
 * @throws Refused; DomainError `unavailable` when a secret cannot be read
 */
export async function openCall(
  services: Pick<Services, 'secrets' | 'clock'>,
  call: WebhookCall,
  trigger: WebhookTrigger,
): Promise<OpenedCall> {
  if (!trigger.enabled) throw new Refused(webhookResponses.notConfigured, 'disabled');
  const clear = await clearSecretsOf(services, trigger, services.clock.now());
  const proof = proveHead(trigger, clear.secrets, call);
  if ('version' in proof) return { ...clear, trigger, proof };
  throw new Refused(
    proof.allow ? webhookResponses.methodNotAllowed(proof.allow) : webhookResponses.unauthorized,
    proof.reason,
  );
}
