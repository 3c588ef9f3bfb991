import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { displayName, permissionName, timestamp } from '../../kernel/shapes.ts';
import { nextFireOf } from '../schedules/next-fire.ts';
import { cronString, timeZone } from '../schedules/schedules.schema.ts';
import { newTriggerSecret, sealSecret } from '../workflows/triggers/sealed-secret.ts';
import { authModes, WorkflowTrigger, webhookMethods } from '../workflows/triggers/trigger.entity.ts';
import { Workflow, WorkflowVersion } from '../workflows/workflow.entity.ts';
import { type BackedUpTable, live } from './backed-up-table.ts';

const number = z.int32().min(1);

const ofLiveWorkflows: NonNullable<BackedUpTable['ofProject']> = async (em, project_id) => {
  const workflows = await em.find(Workflow, live(project_id), { fields: ['id'], disableIdentityMap: true });
  return { workflow_id: { $in: workflows.map(({ id }) => id) } };
};

/** Workflows with all their versions; what they have done stays on the server that did it. */
export const workflowTable = {
  name: 'workflow',
  entity: Workflow,
  key: ['id'],
  isNamed: 'uuid',
  ofProject: async (_em, project_id) => live(project_id),
  row: z.object({
    id: z.uuid(),
    name: displayName,
    description: z.string().nullable(),
    enabled: z.boolean(),
    version: number,
    latest_version: number,
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    project_id: 'that of the project it is restored into',
    deleted_at: 'only workflows that are there are backed up',
  },
} satisfies BackedUpTable;

export const workflowVersionTable = {
  name: 'workflow_version',
  entity: WorkflowVersion,
  key: ['workflow_id', 'number'],
  below: { column: 'workflow_id', table: 'workflow' },
  ofProject: ofLiveWorkflows,
  row: z.object({
    workflow_id: z.uuid(),
    number,
    source: z.string(),
    // As it was read when it was saved: an old version may name what there is no more, and is never run again.
    definition: z.record(z.string(), z.json()),
    permissions: z.array(permissionName),
    created_by: z.string(),
    created_at: timestamp,
  }),
  left: {},
} satisfies BackedUpTable;

/** Triggers; a webhook gets another address and another secret, and a clock is due next as seen from when it is restored. */
export const workflowTriggerTable = {
  name: 'workflow_trigger',
  entity: WorkflowTrigger,
  key: ['id'],
  below: { column: 'workflow_id', table: 'workflow' },
  ofProject: async (em, project_id) => ({ ...(await ofLiveWorkflows(em, project_id)), deleted_at: null }),
  row: z.object({
    workflow_id: z.uuid(),
    type: z.enum(['webhook', 'cron']),
    enabled: z.boolean(),
    auth_mode: z.enum(authModes).nullable(),
    methods: z.array(z.enum(webhookMethods)).nullable(),
    rate_limit: number.nullable(),
    schedule_cron_string: cronString.nullable(),
    timezone: timeZone.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    id: 'given anew',
    secret: 'a secret; another one is made',
    secret_version: 'counts the secrets',
    previous_secret: 'a secret',
    previous_secret_version: 'counts the secrets',
    previous_secret_expires_at: 'goes with the secret',
    previous_secret_last_used_at: 'goes with the secret',
    next_fire_at: 'is reckoned anew',
    deleted_at: 'only triggers that are there are backed up',
  },
  async anew({ services, project }, row) {
    const trigger = row as Pick<WorkflowTrigger, 'type' | 'enabled' | 'schedule_cron_string' | 'timezone'>;
    const id = randomUUID();
    const isWebhook = trigger.type === 'webhook';
    return {
      id,
      secret: isWebhook ? await sealSecret(services, project.organization_id, id, 1, newTriggerSecret()) : null,
      secret_version: isWebhook ? 1 : 0,
      next_fire_at: nextFireOf(trigger, services.clock.now()),
    };
  },
} satisfies BackedUpTable;
