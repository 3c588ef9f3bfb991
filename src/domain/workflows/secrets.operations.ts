import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { findPage, pageOf, wholePageInput, wholeWindowOf } from '../../kernel/paging.ts';
import type { Services } from '../../kernel/services.ts';
import type { OrganizationRef } from '../organizations/organization.entity.ts';
import { WorkflowSecret } from './workflow.entity.ts';
import { maxSecretBytes, maxSecrets, secretName, workflowId, workflowSecret } from './workflow.schema.ts';
import { findWorkflow } from './workflow-record.ts';
import { workflowOperation } from './workflows.ts';

/** What a secret's ciphertext is bound to. */
const secretRecord = (workflow: string, name: string): string => `${workflow}/${name}`;

/**
 * Reads values of a workflow's secrets for its steps, by their names; null: all.
 * @returns a function that throws DomainError `not_found` with the reason `secret_not_set` when one is not set, `unavailable` when one cannot be opened
 */
export const secretsOf =
  (services: Pick<Services, 'orm' | 'secrets'>, organization: Pick<OrganizationRef, 'id'>, workflow_id: string) =>
  async (names: readonly string[] | null): Promise<Record<string, string>> => {
    if (names?.length === 0) return {};
    const where = { workflow_id, ...(names && { name: { $in: [...names] } }) };
    const rows = await services.orm.em.fork().find(WorkflowSecret, where, { disableIdentityMap: true });
    const missing = names?.find((name) => rows.every((row) => row.name !== name));
    // A request without it would go out unsigned, or to another address.
    if (missing !== undefined) {
      const message = `the secret "${missing}" is not set; set it, then retry the execution`;
      throw new DomainError('not_found', message, { details: { reason: 'secret_not_set' } });
    }
    const values: Record<string, string> = {};
    for (const { name, version, ciphertext } of rows) {
      const record = secretRecord(workflow_id, name);
      values[name] = await services.secrets.decrypt(organization.id, 'workflow.secret', record, version, ciphertext);
    }
    return values;
  };

export const listWorkflowSecrets = workflowOperation({
  name: 'workflows.listWorkflowSecrets',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the names of the secrets of a workflow',
  input: z.object({ ...workflowId, ...wholePageInput }),
  output: pageOf(workflowSecret),
  async execute(context, { workflow, ...paging }) {
    const { id: workflow_id } = await findWorkflow(context, workflow);
    const { rows, asPage } = await findPage(
      context.em,
      wholeWindowOf(paging),
      WorkflowSecret,
      { workflow_id },
      { orderBy: { name: 'asc' } },
    );
    return asPage(rows.map(({ name, updated_at }) => ({ name, updated_at })));
  },
});

const tooLong = `must be at most ${maxSecretBytes} bytes`;

export const putWorkflowSecret = workflowOperation({
  name: 'workflows.putWorkflowSecret',
  kind: 'command',
  permission: 'manage_workflows',
  freshGrant: true,
  notInSteps: true,
  summary: 'Set a secret that http steps of a workflow may use',
  input: z.object({
    ...workflowId,
    name: secretName,
    value: z
      .string()
      .min(1, 'must not be empty')
      .max(maxSecretBytes, { error: tooLong, abort: true })
      .refine((value) => Buffer.byteLength(value) <= maxSecretBytes, tooLong)
      .describe(`At most ${maxSecretBytes} bytes of UTF-8`),
  }),
  output: workflowSecret,
  audit: (input) => ({ type: 'workflow_secret', id: `${input.workflow}/${input.name}` }),
  async execute(context, { workflow, name, value }) {
    const { em, organization, services } = context;
    const row = await findWorkflow(context, workflow, { lock: true });
    const known = await em.findOne(WorkflowSecret, { workflow_id: row.id, name });
    if (!known && (await em.count(WorkflowSecret, { workflow_id: row.id })) >= maxSecrets)
      throw new DomainError('limit_reached', `A workflow has at most ${maxSecrets} secrets; delete one first`);
    const version = (known?.version ?? 0) + 1;
    const record = secretRecord(row.id, name);
    const ciphertext = await services.secrets.encrypt(organization.id, 'workflow.secret', record, version, value);
    const updated_at = services.clock.now();
    await em.upsert(WorkflowSecret, { workflow_id: row.id, name, version, ciphertext, updated_at });
    return { name, updated_at };
  },
});

export const deleteWorkflowSecret = workflowOperation({
  name: 'workflows.deleteWorkflowSecret',
  kind: 'command',
  permission: 'manage_workflows',
  freshGrant: true,
  notInSteps: true,
  irreversible: true,
  summary: 'Remove a secret of a workflow',
  input: z.object({ ...workflowId, name: secretName }),
  output: workflowSecret,
  audit: (input) => ({ type: 'workflow_secret', id: `${input.workflow}/${input.name}` }),
  async execute(context, { workflow, name }) {
    const { em } = context;
    const row = await findWorkflow(context, workflow, { lock: true });
    const secret = await em.findOne(WorkflowSecret, { workflow_id: row.id, name });
    if (!secret) throw new DomainError('not_found', 'Secret not found');
    const { updated_at } = secret;
    await em.nativeDelete(WorkflowSecret, { workflow_id: row.id, name });
    return { name, updated_at };
  },
});
