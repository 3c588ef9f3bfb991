import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { type OrganizationContext, organizationOperation, publicOperation } from '../../kernel/operation.ts';
import { orTaken } from '../../kernel/sql.ts';
import type { Archive } from '../../ports/archive.ts';
import { grantsChanged } from '../identity/grant-cache.ts';
import { Project } from '../projects/project.entity.ts';
import { rowsFile } from './backed-up-table.ts';
import { backupLabel, place, repositoryFolder, restoreDraft } from './backup-project.operations.ts';
import { projectRow, projectTables } from './project-tables.ts';
import { insertRows, readRows } from './restore-rows.ts';

type ProjectRow = z.output<typeof projectRow.row>;

function labelOf({ label, product_version }: Archive): z.output<typeof backupLabel> {
  const { machine_name: project, organization, organization_name } = label.project;
  return { organization, organization_name, project, product_version, made_at: label.made_at, counts: label.counts };
}

export const readBackup = publicOperation({
  name: 'backups.readBackup',
  kind: 'query',
  permission: 'instance_admin',
  summary: 'Verify a backup and tell what is in it',
  input: z.object({ directory: place }),
  output: backupLabel,
  async execute({ services, signal, onPhase }, { directory }) {
    onPhase('Verifying checksums');
    return labelOf(await openBackup(services.archives.open(directory, signal)));
  },
});

/**
 * Makes a new project out of a backup, with a new id; all of it or nothing. The repository comes first: without its row it cannot be seen,
 * and what a process that died has left of it is found by `findRemains`.
 */
export const restoreBackup = organizationOperation({
  name: 'backups.restoreBackup',
  kind: 'command',
  effect: 'external',
  permission: 'instance_admin',
  confined: 'refused',
  summary: 'Make a new project out of a backup',
  input: restoreDraft,
  output: backupLabel,
  audit: ({ restored_project }, output) => ({ type: 'project', id: output?.project ?? restored_project ?? null }),
  async execute(context, { directory, restored_project }) {
    const { services, em, organization, signal, onPhase } = context;
    onPhase('Verifying checksums');
    const archive = await openBackup(services.archives.open(directory, signal));
    const row = await readProject(archive);
    const machine_name = restored_project ?? row.machine_name;
    if (await em.findOne(Project, { organization_id: organization.id, machine_name, deleted_at: null }))
      throw taken(machine_name);
    const uuid = randomUUID();
    onPhase('Restoring the repository');
    try {
      await services.git.restore(uuid, archive.folder(repositoryFolder), signal);
      onPhase('Restoring rows');
      await restoreRows(context, archive, { ...row, machine_name, uuid });
    } catch (error) {
      await services.git.remove(uuid);
      throw error;
    }
    return { ...labelOf(archive), organization: organization.machine_name, project: machine_name };
  },
});

const taken = (name: string) =>
  fieldError('already_exists', 'project', `${name} exists in this organisation; name another one`);

/** @throws DomainError `invalid_request` for a backup with something in it that this version would leave out. */
async function openBackup(opening: Promise<Archive>): Promise<Archive> {
  const archive = await opening;
  const known = new Set([projectRow, ...projectTables].map(rowsFile));
  const missing = [rowsFile(projectRow), `${repositoryFolder}/repository.json`].find(
    (file) => !archive.files.includes(file),
  );
  if (missing) throw new DomainError('invalid_request', `${missing}: is no part of this backup; take another one`);
  const strange = archive.files.find((file) => !known.has(file) && !file.startsWith(`${repositoryFolder}/`));
  if (strange === undefined) return archive;
  const problem = `${strange}: is not known here; restore with Portico ${archive.product_version} or a later version`;
  throw new DomainError('invalid_request', problem);
}

async function readProject(archive: Archive): Promise<ProjectRow> {
  for await (const row of readRows(projectRow, archive.lines(rowsFile(projectRow)))) return row;
  throw new DomainError('invalid_request', `${rowsFile(projectRow)}: is empty; take another backup`);
}

async function restoreRows(
  { services, organization, signal }: OrganizationContext,
  archive: Archive,
  row: ProjectRow & { uuid: string },
): Promise<void> {
  await services.orm.em.fork().transactional(async (em) => {
    const id = await insertProject(em, { ...row, organization_id: organization.id });
    const owner = { services, project: { id, organization_id: organization.id }, ids: new Map() };
    for (const table of projectTables) {
      // A backup from before there was this table has none of it.
      if (archive.files.includes(rowsFile(table))) await insertRows(em, table, owner, archive.lines(rowsFile(table)));
      signal.throwIfAborted();
    }
    await grantsChanged(em, organization.id);
  });
  services.grants.evict(`organization:${organization.id}`);
}

async function insertProject(em: EntityManager, row: ProjectRow & { uuid: string; organization_id: number }) {
  const problem = `${row.machine_name} exists in this organisation; name another one`;
  return orTaken('project', problem, () => em.insert(Project, row as never));
}
