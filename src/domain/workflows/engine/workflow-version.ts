import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { Organization, type OrganizationRef } from '../../organizations/organization.entity.ts';
import type { Permission } from '../../permissions.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import { Workflow, WorkflowVersion } from '../workflow.entity.ts';

/** What executions of one version of a workflow go by. */
export interface Guide {
  definition: WorkflowDefinition;
  permissions: readonly Permission[];
  workflow: { id: string; name: string; version: number };
  project: ProjectRef;
  organization: OrganizationRef;
}

/** Names and limits may change while an execution runs; its definition never does. */
const patience = 5_000;

/** The guides of the versions a process has lately executed. */
export class Guides {
  readonly #kept = new LRUCache<string, Guide>({ max: 500, ttl: patience });

  /** @returns null when the workflow's project is deleted */
  async find(fork: () => EntityManager, id: string, version: number): Promise<Guide | null> {
    const name = `${id} ${version}`;
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const em = fork();
    const workflow = await em.findOne(Workflow, { id }, { disableIdentityMap: true });
    const of = await em.findOne(WorkflowVersion, { workflow_id: id, number: version }, { disableIdentityMap: true });
    const project = workflow && (await loadProject(em, { id: workflow.project_id }));
    if (!workflow || !of || !project) return null;
    const organization = await em.findOneOrFail(
      Organization,
      { id: project.organization_id },
      { disableIdentityMap: true },
    );
    const guide = {
      definition: of.definition,
      permissions: of.permissions,
      workflow: { id, name: workflow.name, version },
      project,
      organization,
    };
    this.#kept.set(name, guide);
    return guide;
  }
}
