import type { Services } from '../../../services.ts';
import { usedBytes } from '../../snapshots/used-bytes.ts';
import type { OpenRun } from '../open/open-run.ts';

/** What one run may take of the server, whatever its crawler says. */
export const serverCaps = { milliseconds: 72 * 3600_000, bytes: 20 * 2 ** 30, urls: 2_000_000 };

/** Looks whether a run has reached a limit of the server. */
export class ServerLimits {
  readonly #services: Pick<Services, 'orm' | 'clock'>;
  readonly #open: OpenRun;
  #before: Promise<number> | null = null;

  constructor(services: Pick<Services, 'orm' | 'clock'>, open: OpenRun) {
    this.#services = services;
    this.#open = open;
  }

  /**
   * The limit that is reached, in words; null: none is.
   * @param urls of the run, in any state
   * @param bytes it has stored
   */
  async reached(urls: number, bytes: number): Promise<string | null> {
    const { run, quota } = this.#open;
    const age = this.#services.clock.now().getTime() - (run.started_at?.getTime() ?? Number.POSITIVE_INFINITY);
    if (age > serverCaps.milliseconds) return 'The run takes longer than 72 hours';
    if (urls > serverCaps.urls) return `The run has more than ${serverCaps.urls} URLs`;
    if (bytes > serverCaps.bytes) return 'The run has stored more than 20 GiB';
    if (quota === null || (await this.#stored()) + bytes <= quota) return null;
    return 'The organisation has no room left for snapshots';
  }

  /** Bytes of the organisation's snapshots but this run's own; they change too little in a slice to be added up again. */
  #stored(): Promise<number> {
    const { organization_id, run } = this.#open;
    this.#before ??= usedBytes(this.#services.orm.em.fork(), organization_id, run.id);
    return this.#before;
  }
}
