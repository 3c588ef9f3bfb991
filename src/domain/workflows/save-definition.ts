import type { Permission } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { WorkflowDefinition } from './definition/definition.schema.ts';
import type { DefinitionSource } from './definition/parse-source.ts';
import { type DefinitionFault, type DefinitionReading, readDefinition } from './definition/read-definition.ts';
import { type Workflow, WorkflowSecret, WorkflowVersion } from './workflow.entity.ts';
import type { WorkflowContext } from './workflows.ts';

/** What a definition holds, against the operations there are and the secrets that are set of its workflow, when there is one. */
export async function reading(
  { em, workflows }: Pick<WorkflowContext, 'em' | 'services' | 'workflows'>,
  source: DefinitionSource,
  row: Workflow | null,
): Promise<DefinitionReading> {
  const rows = row ? await em.find(WorkflowSecret, { workflow_id: row.id }, { fields: ['name'] }) : [];
  return readDefinition(source, workflows.stepOperations, new Set(rows.map(({ name }) => name)));
}

/**
 * A definition that is fit to be kept, with what speaks against it all the same.
 * @throws DomainError `validation_failed` with every fault in `details.errors`
 */
export async function requireDefinition(
  context: Pick<WorkflowContext, 'em' | 'services' | 'workflows'>,
  source: DefinitionSource,
  row: Workflow | null,
): Promise<{ text: string; definition: WorkflowDefinition; warnings: DefinitionFault[] }> {
  const { text, definition, errors, warnings } = await reading(context, source, row);
  if (definition !== null) return { text, definition, warnings };
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

/**
 * Why a caller may not run a version that is not published: it acts with a permission that neither they hold nor the published one has, which an
 * author may have taken from the workflow since; null: they may.
 */
export function refusalToRun(
  { grant }: Pick<WorkflowContext, 'grant'>,
  { number, permissions }: Pick<WorkflowVersion, 'number' | 'permissions'>,
  published: Pick<WorkflowVersion, 'permissions'>,
): DomainError | null {
  const lacking = permissions.find((name) => !grant.permissions.has(name) && !published.permissions.includes(name));
  if (lacking === undefined) return null;
  const message = `Version ${number} acts with ${lacking}, which the published version does not and you lack`;
  return new DomainError('forbidden', message);
}

/**
 * Adds the next version of a workflow, and publishes it by default.
 * @param text of the definition
 */
export async function addVersion(
  { em, actor, services }: Pick<WorkflowContext, 'em' | 'actor' | 'services'>,
  row: Workflow,
  text: string,
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
    source: text,
    definition,
    permissions: definition.permissions ?? [],
    created_by: actor.id,
    created_at: now,
  });
}
