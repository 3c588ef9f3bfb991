import { setTimeout as sleep } from 'node:timers/promises';
import type { ProjectContext } from '../operation.ts';
import type { ArchiveDraft } from '../ports/archive.ts';
import type { Oid, Ref } from '../ports/git-records.ts';
import { isMerging } from '../studio/pulls/claim-merge.ts';
import { Pull } from '../studio/pulls/pull.entity.ts';
import { rowLine, rowsFile } from './backed-up-table.ts';
import { readRows } from './restore-rows.ts';
import { pullTable } from './studio-tables.ts';

type Context = Pick<ProjectContext, 'em' | 'git' | 'project' | 'services' | 'signal'>;

const file = rowsFile(pullTable);

/**
 * Rows are read before refs, so that a merge the rows tell of is in the refs. The refs may tell of a later one: a pull request that was
 * merged, or lost its branch, between the two is written as it is now. Its row had changed before its branch went.
 */
export async function matchPulls(context: Context, draft: ArchiveDraft, refs: readonly Ref[]): Promise<void> {
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
