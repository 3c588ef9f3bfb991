import type { Services } from '../../../services.ts';
import type { Worker } from '../deployment.entity.ts';
import type { Attempt } from '../transitions.ts';
import type { StopReason } from './building.ts';

/** How often a worker shows that it lives, and looks whether its run is still wanted; milliseconds. */
const beatEvery = 1_000;

/**
 * Shows for as long as a run lasts that its worker lives, and hears of what others decide about it.
 * @returns how to show a change of `worker` at once, and how to end it
 */
export function keepAlive(
  { orm, log }: Pick<Services, 'orm' | 'log'>,
  { id, attempt }: Attempt,
  worker: Worker,
  stop: (reason: StopReason) => void,
): { beat(): Promise<void>; end(): void } {
  const beat = async () => {
    const [row] = await orm.em.fork().execute<{ cancel_requested: boolean }[]>(
      `update deployment set heartbeat_at = now(), worker = ?::json
       where id = ? and attempt = ? and status = 'in_progress' returning cancel_requested`,
      [JSON.stringify(worker), id, attempt],
    );
    if (!row) stop('lost');
    else if (row.cancel_requested) stop('cancelled');
  };
  const timer = setInterval(() => {
    beat().catch((err: unknown) => log.debug({ err, deployment: id }, 'heartbeat of a deployment not written'));
  }, beatEvery);
  return { beat, end: () => clearInterval(timer) };
}
