import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { machineName } from '../../kernel/shapes.ts';
import type { ArchiveDraft, ArchiveLabel } from '../../ports/archive.ts';
import type { Oid, Ref } from '../../ports/git-records.ts';
import { type ProjectContext, projectOperation } from '../projects/operation.ts';
import { Project } from '../projects/project.entity.ts';
import { isMerging } from '../studio/pulls/claim-merge.ts';
import { Pull } from '../studio/pulls/pull.entity.ts';
import { rowLine, rowLines, rowsFile } from './backed-up-table.ts';
import { projectRow, projectTables } from './project-tables.ts';
import { readRows } from './restore-rows.ts';
import { pullTable } from './studio-tables.ts';

export const place = z
  .string()
  .min(1)
  .describe('Absolute path of the directory of a backup, on the machine of the server');

const counts = z.record(z.string(), z.int()).describe('Rows by table, refs');

const backup = z.object({ directory: z.string(), bytes: z.int(), counts });

export const backupLabel = z.object({
  organization: z.string(),
  organization_name: z.string(),
  project: z.string(),
  made_at: z.string(),
  product_version: z.string(),
  counts,
});

export const restoreDraft = z.object({
  directory: place,
  restored_project: machineName.optional().describe('Machine name of the new project; default: as it was'),
});

type Context = Pick<ProjectContext, 'em' | 'git' | 'project' | 'services' | 'signal'>;

const file = rowsFile(pullTable);

/**
 * Rows are read before refs, so that a merge recorded in the rows is in the refs. The refs may hold a later one: a pull request that was
 * merged, or lost its branch, between the two is written as it is now. Its row had changed before its branch went.
 */
async function matchPulls(context: Context, draft: ArchiveDraft, refs: readonly Ref[]): Promise<void> {
  const { em, project } = context;
  const open = new Set<number>();
  for await (const row of readRows(pullTable, draft.lines(file))) if (row.state === 'open') open.add(row.number);
  const numbers = { project_id: project.id, number: { $in: [...open] } };
  const heads = new Map(refs.map(({ name, oid }) => [name, oid]));
  const later = new Map<number, Pull>();
  for (const found of await em.fork().find(Pull, numbers)) {
    const row = await settled(context, found);
    if (row.state !== 'open' && (await isInRefs(context, row, heads))) later.set(row.number, row);
  }
  if (later.size > 0) await draft.writeLines(file, replaced(draft, later));
}

/** The row once no merge of it is under way: its commit may be in the refs before its row says so. */
async function settled(
  { em, services, signal }: Pick<Context, 'em' | 'services' | 'signal'>,
  row: Pull,
): Promise<Pull> {
  if (!isMerging(row, await services.sharedClock.now(em))) return row;
  await sleep(50, undefined, { signal });
  return settled({ em, services, signal }, await em.fork().findOneOrFail(Pull, row.id));
}

/** Whether the refs show what became of a pull request that was open before they were read. */
async function isInRefs({ git }: Pick<Context, 'git'>, row: Pull, heads: ReadonlyMap<string, Oid>): Promise<boolean> {
  const [head, base] = [row.head_branch, row.base_branch].map((branch) => heads.get(`refs/heads/${branch}`));
  if (head === undefined || base === undefined) return true;
  return row.merge_commit_sha != null && git.isAncestor(row.merge_commit_sha, base);
}

async function* replaced(draft: ArchiveDraft, later: ReadonlyMap<number, Pull>): AsyncGenerator<string> {
  for await (const row of readRows(pullTable, draft.lines(file)))
    yield rowLine(pullTable, later.get(row.number) ?? row);
}

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
