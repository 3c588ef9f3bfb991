import { z } from 'zod';
import { DomainError } from '../errors.ts';
import { type ProjectContext, projectOperation } from '../operation.ts';
import type { ArchiveDraft, ArchiveLabel } from '../ports/archive.ts';
import { Project } from '../projects/project.entity.ts';
import { rowLine, rowLines, rowsFile } from './backed-up-table.ts';
import { backup, place } from './backups.schema.ts';
import { matchPulls } from './match-pulls.ts';
import { projectRow, projectTables } from './project-tables.ts';

/** Where the git engine's files lie in a backup. */
export const repositoryFolder = 'repository';

/**
 * Writes the rows, the refs and all they reach of a project into a new directory, while writers go on.
 */
export const backupProject = projectOperation({
  name: 'backups.backupProject',
  kind: 'command',
  effect: 'external',
  permission: 'instance_admin',
  local: true,
  summary: 'Write a backup of a project: its rows and its repository',
  input: z.object({ directory: place }),
  output: backup,
  audit: (_input, _output, { project }) => ({ type: 'project', id: project }),
  async execute(context, { directory }) {
    let counts: ArchiveLabel['counts'] = {};
    const fill = async (draft: ArchiveDraft) => {
      const label = await fillDraft(context, draft);
      counts = label.counts;
      return label;
    };
    const bytes = await context.services.archives.create(directory, fill, context.signal);
    return { directory, bytes, counts };
  },
});

async function fillDraft(context: ProjectContext, draft: ArchiveDraft): Promise<ArchiveLabel> {
  const { services, organization, project, signal, onPhase } = context;
  onPhase('Reading rows');
  const { counts, name } = await writeRows(context, draft);
  onPhase('Writing the repository');
  const { refs } = await services.git.backup(project.uuid, await draft.folder(repositoryFolder), signal);
  await matchPulls(context, draft, refs);
  onPhase('Writing checksums');
  return {
    made_at: services.clock.now().toISOString(),
    project: {
      organization: organization.machine_name,
      organization_name: organization.name,
      machine_name: project.machine_name,
      name,
    },
    counts: { ...counts, refs: refs.length },
  };
}

/** All rows as they were at one moment. */
function writeRows({ em, project }: ProjectContext, draft: ArchiveDraft) {
  return em.fork().transactional(
    async (snapshot) => {
      const row = await snapshot.findOne(Project, { id: project.id, deleted_at: null });
      if (!row) throw new DomainError('not_found', 'Project not found');
      // An import under way has a job here, and would have none where it is restored.
      const finished = row.import?.state === 'completed' || row.import?.state === 'failed' ? row.import : null;
      await draft.writeLines(rowsFile(projectRow), one(rowLine(projectRow, { ...row, import: finished })));
      const counts: ArchiveLabel['counts'] = {};
      for (const table of projectTables)
        counts[table.name] = await draft.writeLines(rowsFile(table), rowLines(snapshot, table, project.id));
      return { counts, name: row.name };
    },
    { isolationLevel: 'repeatable read', readOnly: true },
  );
}

async function* one(line: string): AsyncGenerator<string> {
  yield line;
}
