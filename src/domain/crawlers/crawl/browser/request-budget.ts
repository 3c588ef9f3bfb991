import type { Services } from '../../../services.ts';
import type { CrawlerRun } from '../../runs/crawler-run.entity.ts';

/** Requests a browser's page may send beside those that were claimed: none is sent that max_hits has no room for, across crashes too. */
export class RequestBudget {
  readonly #orm: Services['orm'];
  readonly #run: Pick<CrawlerRun, 'id' | 'epoch'>;
  readonly #most: number;

  /** @param most `max_hits`; 0: no limit */
  constructor({ orm }: Pick<Services, 'orm'>, run: Pick<CrawlerRun, 'id' | 'epoch'>, most: number) {
    this.#orm = orm;
    this.#run = run;
    this.#most = most;
  }

  async reserve(): Promise<boolean> {
    if (this.#most === 0) return true;
    const { id, epoch } = this.#run;
    const rows = await this.#orm.em.fork().execute<unknown[]>(
      `update crawler_run set hits_reserved = hits_reserved + 1
       where id = ? and epoch = ? and hits_reserved < ? returning id`,
      [id, epoch, this.#most],
    );
    return rows.length > 0;
  }

  /** Gives one back that surely was not sent. */
  async refund(): Promise<void> {
    if (this.#most === 0) return;
    const { id, epoch } = this.#run;
    await this.#orm.em
      .fork()
      .execute('update crawler_run set hits_reserved = hits_reserved - 1 where id = ? and epoch = ?', [id, epoch]);
  }
}
