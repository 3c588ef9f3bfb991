import type { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import type { Permission } from '../../kernel/permissions.ts';
import type { WorkflowDefinition } from './definition/definition.schema.ts';
import { type DefinitionFault, type DefinitionReading, readDefinition } from './definition/read-definition.ts';
import { type Workflow, WorkflowSecret, WorkflowVersion } from './workflow.entity.ts';
import type { definitionSource } from './workflow.schema.ts';
import type { WorkflowContext } from './workflows.ts';

type Source = z.output<typeof definitionSource>;

/** The text of a definition, which is what is kept. */
export const sourceOf = (source: Source): string =>
  typeof source === 'string' ? source : JSON.stringify(source, null, 2);

/** What a definition holds, against the operations there are and the secrets that are set of its workflow, when there is one. */
export async function reading(
  { em, workflows }: Pick<WorkflowContext, 'em' | 'services' | 'workflows'>,
  source: Source,
  row: Workflow | null,
): Promise<DefinitionReading> {
  const rows = row ? await em.find(WorkflowSecret, { workflow_id: row.id }, { fields: ['name'] }) : [];
  return readDefinition(sourceOf(source), workflows.stepOperations, new Set(rows.map(({ name }) => name)));
}

/**
 * A definition that is fit to be kept, with what speaks against it all the same.
 * @throws DomainError `validation_failed` with every fault in `details.errors`
 */
export async function requireDefinition(
  context: Pick<WorkflowContext, 'em' | 'services' | 'workflows'>,
  source: Source,
  row: Workflow | null,
): Promise<{ definition: WorkflowDefinition; warnings: DefinitionFault[] }> {
  const { definition, errors, warnings } = await reading(context, source, row);
  if (definition !== null) return { definition, warnings };
  const [first] = errors;
  const message = first
    ? `definition: line ${first.line}: ${first.field || 'it'} ${first.message}`
    : 'definition: is not valid';
  throw new DomainError('validation_failed', message, { details: { errors } });
}

/**
 * A workflow acts with the permissions its definition lists, so its author must hold them.
 * @throws DomainError `forbidden`
 */
export function requireHeld({ grant }: Pick<WorkflowContext, 'grant'>, permissions: readonly Permission[]): void {
  const lacking = permissions.find((name) => !grant.permissions.has(name));
  if (lacking) throw new DomainError('forbidden', `definition.permissions: you lack ${lacking} and cannot grant it`);
}

/** Adds the next version of a workflow, and publishes it by default. */
export async function addVersion(
  { em, actor, services }: Pick<WorkflowContext, 'em' | 'actor' | 'services'>,
  row: Workflow,
  source: Source,
  definition: WorkflowDefinition,
  { publish = true }: { publish?: boolean } = {},
): Promise<void> {
  const now = services.clock.now();
  row.latest_version += 1;
  row.updated_at = now;
  if (publish) row.version = row.latest_version;
  // The version names its workflow, which may be new itself.
  await em.flush();
  await em.insert(WorkflowVersion, {
    workflow_id: row.id,
    number: row.latest_version,
    source: sourceOf(source),
    definition,
    permissions: definition.permissions ?? [],
    created_by: actor.id,
    created_at: now,
  });
}
