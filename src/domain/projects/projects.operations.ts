import { randomUUID } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { organizationOperation, publicOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import {
  addressOf,
  changeOf,
  displayName,
  machineName,
  machineNameFrom,
  machineNamePattern,
  oneLine,
  timestamp,
} from '../../kernel/shapes.ts';
import { orTaken } from '../../kernel/sql.ts';
import { defined } from '../../lib/objects.ts';
import { grantsChanged } from '../identity/grant-cache.ts';
import { holdOrganization, Organization } from '../organizations/organization.entity.ts';
import { importJob, queuedImport } from '../studio/repository/import-repository.ts';
import { projectOperation } from './operation.ts';
import { Project } from './project.entity.ts';

export const project = z
  .object({
    id: z.int32(),
    uuid: z.uuid(),
    name: z.string(),
    machine_name: z.string(),
    region: z.string().optional(),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'ProjectRecord' });

const region = oneLine(100);

const projectChange = changeOf({
  name: displayName.optional(),
  region: region.nullish().describe('null removes it'),
});

/** An upstream given by a caller: https only, nothing secret in it. The address itself is checked when it is connected to. */
export const importUrl = z
  .string()
  .max(2000, 'must be at most 2000 characters')
  .regex(addressOf('https'), { error: 'must be an https URL', abort: true })
  .refine((text) => URL.canParse(text), 'must be an https URL')
  .regex(/^[^/]*\/\/[^/?#@]*(?:[/?#]|$)/, 'must not contain a user name or password');

const projectDraft = z.object({
  name: displayName,
  machine_name: machineName.optional().describe('Made from the name when absent'),
  region: region.optional(),
  import_url: importUrl
    .optional()
    .describe('A git repository to begin with; progress: `import` of the repository record'),
});

/** Branch a repository begins with when nothing else says. */
const firstBranch = 'main';

function present(row: Project): z.output<typeof project> {
  const { id, uuid, name, machine_name, region, created_at, updated_at, deleted_at } = row;
  return {
    id,
    uuid,
    name,
    machine_name,
    ...(region != null && { region }),
    created_at,
    updated_at,
    deleted_at: deleted_at ?? null,
  };
}

export const listProjects = organizationOperation({
  name: 'projects.listProjects',
  kind: 'query',
  permission: 'browse_organization',
  confined: 'own_projects',
  summary: 'List the projects of an organisation',
  input: z.object({ ...pageInput }),
  output: pageOf(project),
  async execute({ em, organization, grant }, input) {
    const { rows, asPage } = await findPage(
      em,
      input,
      Project,
      {
        organization_id: organization.id,
        deleted_at: null,
        ...(grant.projects && { id: { $in: [...grant.projects] } }),
      },
      { orderBy: { name: 'asc', id: 'asc' } },
    );
    return asPage(rows.map(present));
  },
});

export const getProject = projectOperation({
  name: 'projects.getProject',
  kind: 'query',
  permission: 'browse_organization',
  summary: 'Get a project',
  input: z.object({}),
  output: project,
  async execute({ em, project: { id } }) {
    return present(await em.findOneOrFail(Project, id));
  },
});

export const locateProject = projectOperation({
  name: 'projects.locateProject',
  kind: 'query',
  permission: 'signed_in',
  summary: 'A project and what lies below it',
  input: z.object({}),
  output: z.object({ uuid: z.uuid() }),
  execute: async ({ project: { uuid } }) => ({ uuid }),
});

export const findProject = publicOperation({
  name: 'projects.findProject',
  kind: 'query',
  permission: 'signed_in',
  summary: 'Find a project by its UUID; one that the caller has no grant in is not found',
  input: z.object({ uuid: z.uuid() }),
  output: z.object({ organization: z.string(), project: z.string() }),
  async execute({ em, actor }, { uuid }) {
    const row = await em.findOne(Project, { uuid, deleted_at: null });
    const grant = row && actor?.grantFor(row.organization_id);
    if (!row || !grant || (grant.projects && !grant.projects.has(row.id)))
      throw new DomainError('not_found', 'Project not found');
    const { machine_name: organization } = await em.findOneOrFail(Organization, row.organization_id);
    return { organization, project: row.machine_name };
  },
});

export const createProject = organizationOperation({
  name: 'projects.createProject',
  kind: 'command',
  permission: 'manage_organization',
  confined: 'refused',
  summary: 'Create a project, empty or from a git repository',
  input: projectDraft,
  output: project,
  audit: (input, output) => ({ type: 'project', id: output?.machine_name ?? input.machine_name ?? null }),
  async execute({ em, services, organization }, { import_url, ...draft }) {
    await holdOrganization(em, organization.id);
    const now = services.clock.now();
    const machine_name = draft.machine_name ?? machineNameFrom(draft.name);
    const row = em.create(Project, {
      ...draft,
      machine_name,
      uuid: randomUUID(),
      organization_id: organization.id,
      import: import_url ? queuedImport(import_url, 1) : null,
      created_at: now,
      updated_at: now,
    });
    await orTaken('machine_name', `${machine_name} is taken in this organisation`, () => em.persist(row).flush());
    // A repository whose row is rolled back is an unreachable empty directory; the other order would lose the project.
    await services.git.create(row.uuid, firstBranch);
    const group = String(organization.id);
    if (import_url)
      await services.jobs.send(importJob, { project_id: row.id, attempt: 1, url: import_url }, { em, group });
    await grantsChanged(em, organization.id);
    return present(row);
  },
});

export const updateProject = projectOperation({
  name: 'projects.updateProject',
  kind: 'command',
  permission: 'manage_organization',
  summary: 'Change a project',
  input: projectChange,
  output: project,
  audit: (_input, _output, { project: name }) => ({ type: 'project', id: name }),
  async execute({ em, services, organization, project: { id } }, change) {
    const row = await em.findOneOrFail(Project, id);
    em.assign(row, { ...defined(change), updated_at: services.clock.now() });
    await em.flush();
    await grantsChanged(em, organization.id);
    return present(row);
  },
});

export const deleteProject = projectOperation({
  name: 'projects.deleteProject',
  kind: 'command',
  permission: 'manage_organization',
  irreversible: true,
  summary: 'Delete a project; its data is kept 30 days',
  input: z.object({}),
  output: project,
  audit: (_input, _output, { project: name }) => ({ type: 'project', id: name }),
  async execute({ em, services, organization, project: { id } }) {
    const now = services.clock.now();
    await em.nativeUpdate(Project, { id }, { deleted_at: now, updated_at: now });
    await grantsChanged(em, organization.id);
    return present(await em.findOneOrFail(Project, id));
  },
});

export const restoreProject = organizationOperation({
  name: 'projects.restoreProject',
  kind: 'command',
  permission: 'manage_organization',
  confined: 'own_projects',
  summary: 'Restore a deleted project',
  input: z.object({
    deleted_project: z.string().describe('Machine name of the project that was deleted last, or the UUID of one'),
  }),
  output: project,
  audit: ({ deleted_project }) => ({ type: 'project', id: deleted_project }),
  async execute({ em, services, organization, grant }, { deleted_project: name }) {
    await holdOrganization(em, organization.id);
    const wanted = z.uuid().safeParse(name).success ? { uuid: name } : { machine_name: name };
    const row =
      'uuid' in wanted || machineNamePattern.test(name)
        ? await em.findOne(
            Project,
            { organization_id: organization.id, ...wanted, deleted_at: { $ne: null } },
            { orderBy: { deleted_at: 'desc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
          )
        : null;
    if (!row) throw new DomainError('not_found', 'No deleted project has this name');
    if (grant.projects && !grant.projects.has(row.id))
      throw new DomainError('forbidden', 'This credential has no access to the project');
    Object.assign(row, { deleted_at: null, updated_at: services.clock.now() });
    const { machine_name, uuid } = row;
    const taken = `${machine_name} is taken by a newer project; once that is deleted, restore ${uuid} in place of the name`;
    await orTaken('project', taken, () => em.flush());
    await grantsChanged(em, organization.id);
    return present(row);
  },
});
