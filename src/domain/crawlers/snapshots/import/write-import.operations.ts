import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { type ProjectContext, projectOperation } from '../../../operation.ts';
import { CrawlSnapshot, SnapshotImport } from '../snapshot.entity.ts';
import { commitImport, earlierCommit } from './commit-import.ts';
import { prepareImport } from './prepare-import.ts';

type Context = Pick<ProjectContext, 'git' | 'services' | 'project' | 'em' | 'log' | 'signal'>;

async function work(context: Context, row: SnapshotImport): Promise<void> {
  const { em, services } = context;
  const wasBegun = row.state === 'running';
  row.state = 'running';
  await em.flush();
  let commit_sha = wasBegun ? await earlierCommit(context, row) : null;
  if (commit_sha === null) {
    const snapshot = await em.findOneOrFail(CrawlSnapshot, { id: row.snapshot_id }, { refresh: true });
    const { importing, tooLarge } = await prepareImport(context, row, snapshot);
    commit_sha = await commitImport(context, row, snapshot.host, importing, async (plan) => {
      const { added, changed, removed, skipped } = plan;
      const result = { added, changed, removed, skipped: [...skipped, ...tooLarge] };
      await services.orm.em.fork().nativeUpdate(SnapshotImport, { id: row.id }, result);
    });
  }
  em.assign(row, { commit_sha, state: 'completed', completed_at: services.clock.now() });
  await em.flush();
}

export const writeImport = projectOperation({
  name: 'crawlers.writeImport',
  kind: 'command',
  effect: 'external',
  permission: 'manage_studio',
  summary: 'Commit what an import has been asked for',
  input: z.object({ import_id: z.int32() }),
  output: z.object({}),
  audit: ({ import_id }) => ({ type: 'snapshot_import', id: String(import_id) }),
  async execute(context, { import_id }) {
    const { em, services, log } = context;
    const row = await em.findOne(SnapshotImport, { id: import_id }, { refresh: true });
    if (!row || row.state === 'completed' || row.state === 'failed') return {};
    try {
      await work(context, row);
    } catch (error) {
      if (context.signal.aborted) throw error;
      const isKnown = error instanceof DomainError;
      if (!isKnown) log.error({ err: error, import: import_id }, 'import failed');
      await services.orm.em.fork().nativeUpdate(
        SnapshotImport,
        { id: import_id },
        {
          state: 'failed',
          // Of a commit that did not come about.
          added: 0,
          changed: 0,
          removed: 0,
          skipped: [],
          error: isKnown ? error.message : 'Something went wrong',
          completed_at: services.clock.now(),
        },
      );
    }
    return {};
  },
});
