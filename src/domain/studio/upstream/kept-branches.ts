import { DomainError } from '../../errors.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Services } from '../../services.ts';
import type { Reconciled } from './reconcile-branch.ts';
import { UpstreamBranch } from './upstream.entity.ts';

/** What a pass has found out of one branch. */
export type Changed = Reconciled & { name: string };

interface Pass {
  services: Pick<Services, 'orm' | 'clock'>;
  project: Pick<ProjectRef, 'id'>;
  /** Of the upstream's row when the pass began. */
  version: number;
}

/**
 * Keeps how branches stand to the upstream; those that are on neither side any more are forgotten.
 * @throws DomainError `busy` when the upstream was set anew since the pass began: the next one finds out how branches stand to that; `not_found`
 * when there is none any more
 */
export async function keepBranches({ services, project, version }: Pass, changed: readonly Changed[]): Promise<void> {
  const gone = changed.filter(({ synced, problem }) => synced === null && problem === null).map(({ name }) => name);
  const rows = changed
    .filter(({ name }) => !gone.includes(name))
    .map(({ name, synced, pushed, problem, message }) => ({
      project_id: project.id,
      name,
      synced_sha: synced,
      problem,
      message,
      ...(pushed && { pushed_at: services.clock.now() }),
    }));
  await services.orm.em.fork().transactional(async (em) => {
    const sql = 'select version from upstream where project_id = ? for share';
    const [upstream] = await em.execute<{ version: number }[]>(sql, [project.id]);
    if (!upstream) throw new DomainError('not_found', 'This project has no upstream');
    if (upstream.version !== version) throw new DomainError('busy', 'The upstream was set anew meanwhile; try again');
    if (gone.length > 0) await em.nativeDelete(UpstreamBranch, { project_id: project.id, name: { $in: gone } });
    // Two kinds of rows: an upsert writes the columns of its first row.
    for (const pushed of [true, false]) {
      const some = rows.filter((row) => 'pushed_at' in row === pushed);
      if (some.length > 0) await em.upsertMany(UpstreamBranch, some);
    }
  });
}
