import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { AuditRow } from '../../audit/audit.entity.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { workflowOperation } from '../workflows.ts';
import { newTriggerSecret, openSecret, sealSecret } from './sealed-secret.ts';
import type { WorkflowTrigger } from './trigger.entity.ts';
import { maxGrace, revealedSecret, rotatedTrigger, triggerName, workflowTrigger } from './trigger.schema.ts';
import { triggerRecord } from './trigger-record.ts';
import { findTrigger } from './triggers.operations.ts';

const revealsAMinute = 10;
const minute = 60_000;
const subject = ({ trigger }: { trigger: string }) => ({ type: 'workflow_trigger', id: trigger });

function requireWebhook({ type }: WorkflowTrigger): void {
  if (type !== 'webhook') throw new DomainError('not_found', 'A cron trigger has no secret');
}

/** Counts what the actor was shown, whichever process showed it. @throws DomainError `rate_limited` */
async function requireLeisure({ em, services, actor }: ProjectContext): Promise<void> {
  const since = new Date(services.clock.now().getTime() - minute);
  const shown = await em.count(AuditRow, {
    at: { $gt: since },
    action: revealTriggerSecret.name,
    actor: actor.id,
    outcome: 'ok',
  });
  if (shown >= revealsAMinute)
    throw new DomainError('rate_limited', `At most ${revealsAMinute} secrets are shown a minute; try again later`, {
      details: { retry_after: minute / 1000 },
    });
}

export const revealTriggerSecret = workflowOperation({
  name: 'workflows.revealTriggerSecret',
  kind: 'command',
  permission: 'manage_workflows',
  freshGrant: true,
  recentProof: true,
  notInSteps: true,
  summary: 'Show the secret of a webhook trigger without changing it',
  input: z.object(triggerName),
  output: revealedSecret,
  audit: subject,
  async execute(context, input) {
    const { organization, services } = context;
    const { trigger } = await findTrigger(context, input);
    requireWebhook(trigger);
    await requireLeisure(context);
    const secret = await openSecret(services, organization.id, trigger);
    if (secret === null) throw new DomainError('not_found', 'The secret is revoked; rotate makes another one');
    return { secret, secret_version: trigger.secret_version, auth_mode: trigger.auth_mode ?? 'secret' };
  },
});

const graceFault = `must be an integer from 0 to ${maxGrace}`;

export const rotateTriggerSecret = workflowOperation({
  name: 'workflows.rotateTriggerSecret',
  kind: 'command',
  permission: 'manage_workflows',
  freshGrant: true,
  recentProof: true,
  notInSteps: true,
  summary: 'Rotate the secret of a webhook trigger; the previous one stops working at once, or after a grace period',
  input: z.object({
    ...triggerName,
    grace_period_seconds: z
      .int(graceFault)
      .min(0, graceFault)
      .max(maxGrace, graceFault)
      .optional()
      .describe('How long the previous secret stays valid, default 0'),
  }),
  output: rotatedTrigger,
  audit: subject,
  async execute(context, { grace_period_seconds: grace = 0, ...names }) {
    const { em, organization, services } = context;
    const { trigger } = await findTrigger(context, names, { lock: true });
    requireWebhook(trigger);
    const secret = newTriggerSecret();
    const version = trigger.secret_version + 1;
    const sealed = await sealSecret(services, organization.id, trigger.id, version, secret);
    const keeps = grace > 0 && trigger.secret != null;
    const now = await services.sharedClock.now(em);
    em.assign(trigger, {
      previous_secret: keeps ? (trigger.secret ?? null) : null,
      previous_secret_version: keeps ? trigger.secret_version : null,
      previous_secret_expires_at: keeps ? new Date(now.getTime() + grace * 1000) : null,
      previous_secret_last_used_at: null,
      secret: sealed,
      secret_version: version,
      updated_at: services.clock.now(),
    });
    await em.flush();
    return { ...(await triggerRecord(context, trigger)), secret };
  },
});

export const revokeTriggerSecret = workflowOperation({
  name: 'workflows.revokeTriggerSecret',
  kind: 'command',
  permission: 'manage_workflows',
  freshGrant: true,
  notInSteps: true,
  summary: 'Revoke the previous secret of a webhook trigger, or all of its secrets',
  input: z.object({
    ...triggerName,
    which: z.enum(['previous', 'all'], 'must be previous or all').meta({ id: 'RevokedSecrets' }),
  }),
  output: workflowTrigger,
  audit: subject,
  async execute(context, { which, ...names }) {
    const { em, services } = context;
    const { trigger } = await findTrigger(context, names, { lock: true });
    requireWebhook(trigger);
    const none = { previous_secret: null, previous_secret_version: null, previous_secret_expires_at: null };
    em.assign(trigger, { ...none, ...(which === 'all' && { secret: null }), updated_at: services.clock.now() });
    await em.flush();
    return triggerRecord(context, trigger);
  },
});
