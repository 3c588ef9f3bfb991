import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { type ProjectContext, projectOperation } from '../../../operation.ts';
import { CrawlSnapshot } from '../snapshot.entity.ts';
import { claimImport, type ImportClaim } from './claim-import.ts';
import { commitImport, earlierCommit } from './commit-import.ts';
import { prepareImport } from './prepare-import.ts';

type Context = Pick<ProjectContext, 'git' | 'services' | 'project' | 'em' | 'log' | 'signal'>;

/** Another process has the import now. */
class TakenOver extends Error {}

async function work(context: Context, { row, wasBegun, write }: ImportClaim): Promise<void> {
  const { em, services } = context;
  let commit_sha = wasBegun ? await earlierCommit(context, row) : null;
  if (commit_sha === null) {
    const snapshot = await em.findOneOrFail(CrawlSnapshot, { id: row.snapshot_id }, { refresh: true });
    const { importing, tooLarge } = await prepareImport(context, row, snapshot);
    commit_sha = await commitImport(context, row, snapshot.host, importing, async (plan) => {
      const { added, changed, removed, skipped } = plan;
      const isOurs = await write({ added, changed, removed, skipped: [...skipped, ...tooLarge] });
      // Before the commit: whoever has taken the import over makes it.
      if (!isOurs) throw new TakenOver();
    });
  }
  await write({ commit_sha, state: 'completed', completed_at: services.clock.now() });
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
    const claim = await claimImport(em, import_id);
    if (claim === null) return {};
    try {
      await work(context, claim);
    } catch (error) {
      if (error instanceof TakenOver) return {};
      if (context.signal.aborted) throw error;
      const isKnown = error instanceof DomainError;
      if (!isKnown) log.error({ err: error, import: import_id }, 'import failed');
      await claim.write({
        state: 'failed',
        // Of a commit that did not come about.
        added: 0,
        changed: 0,
        removed: 0,
        skipped: [],
        error: isKnown ? error.message : 'Something went wrong',
        completed_at: services.clock.now(),
      });
    }
    return {};
  },
});
