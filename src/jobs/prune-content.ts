import type { Services } from '../domain/services.ts';

/** What one night removes at most; the rest waits for the next. */
const mostRemoved = 100_000;
const removedAtOnce = 5_000;
/** How long one night may take, milliseconds; projects come in any order, so that each has its turn. */
const mostTime = 10 * 60_000;

/** Removes derived content that was retired before, then retires what nothing holds any more. */
export async function pruneStoredContent(services: Services, ended: AbortSignal): Promise<void> {
  const { content, git, log, orm } = services;
  for (let removed = 0; removed < mostRemoved && !ended.aborted; removed += removedAtOnce) {
    if (((await content.removeExpired(removedAtOnce)) ?? 0) < removedAtOnce) break;
  }
  const signal = AbortSignal.any([ended, AbortSignal.timeout(mostTime)]);
  const projects = await orm.em
    .fork()
    .execute<{ uuid: string }[]>('select uuid from project where deleted_at is null order by random()');
  for (const { uuid } of projects) {
    if (signal.aborted) return;
    try {
      await content.prune(git.open(uuid), signal);
    } catch (err) {
      log.warn({ err, repository: uuid }, 'derived content not pruned');
    }
  }
}
