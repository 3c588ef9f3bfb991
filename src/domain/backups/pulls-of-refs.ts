import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { ArchiveDraft } from '../ports/archive.ts';
import type { Ref } from '../ports/git-records.ts';
import { Pull } from '../studio/pulls/pull.entity.ts';
import { readRows, rowLine, rowsFile } from './backed-up-table.ts';
import { pullTable } from './project-tables.ts';

type PullRow = z.output<typeof pullTable.row>;

const file = rowsFile(pullTable);

/**
 * Rows are read before refs, so that a merge the rows tell of is in the refs. A pull request that was merged or closed between the two,
 * and whose branch then went, would be open and without its branch: of such a one the row is read again. Its branch went after its row had
 * changed, and the refs, read after that, have what it was merged into.
 */
export async function matchPulls(
  draft: ArchiveDraft,
  em: EntityManager,
  projectId: number,
  refs: readonly Ref[],
): Promise<void> {
  const branches = new Set(refs.map(({ name }) => name));
  const isWhole = ({ state, head_branch, base_branch }: PullRow) =>
    state !== 'open' || [head_branch, base_branch].every((branch) => branches.has(`refs/heads/${branch}`));
  const moved: number[] = [];
  for await (const row of readRows(pullTable, draft.lines(file))) if (!isWhole(row)) moved.push(row.number);
  if (moved.length === 0) return;
  const rows = await em.find(Pull, { project_id: projectId, number: { $in: moved } }, { disableIdentityMap: true });
  const now = new Map(rows.map((row) => [row.number, row]));
  await draft.writeLines(file, replaced(draft, now));
}

async function* replaced(draft: ArchiveDraft, now: ReadonlyMap<number, Pull>): AsyncGenerator<string> {
  for await (const row of readRows(pullTable, draft.lines(file))) yield rowLine(pullTable, now.get(row.number) ?? row);
}
