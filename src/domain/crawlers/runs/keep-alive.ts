import type { Services } from '../../services.ts';
import type { CrawlerRun } from './crawler-run.entity.ts';

/** Milliseconds between two signs of life. */
const beatEvery = 2_000;

const beatSql = `
  update crawler_run set heartbeat_at = now()
  where id = ? and epoch = ? and status in ('provisioning', 'running') and heartbeat_at is not null
  returning stop_requested`;

/**
 * Shows that a run is worked on, and hears whether it still is to be: `lost` when it is somebody else's, or has ended, else what was asked.
 * @returns how to end it
 */
export function keepAlive(
  { orm, log }: Pick<Services, 'orm' | 'log'>,
  { id, epoch }: Pick<CrawlerRun, 'id' | 'epoch'>,
  onHeard: (heard: 'lost' | 'cancel' | 'stop') => void,
): () => void {
  const beat = async () => {
    const [row] = await orm.em.fork().execute<Pick<CrawlerRun, 'stop_requested'>[]>(beatSql, [id, epoch]);
    if (!row) onHeard('lost');
    else if (row.stop_requested) onHeard(row.stop_requested);
  };
  const timer = setInterval(() => {
    beat().catch((err: unknown) => log.debug({ err, run: id }, 'heartbeat of a run not written'));
  }, beatEvery);
  return () => clearInterval(timer);
}
