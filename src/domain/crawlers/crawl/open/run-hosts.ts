import type { Services } from '../../../services.ts';
import type { CrawlerRun, RunHost } from '../../runs/crawler-run.entity.ts';

/** What a run has found out about its hosts, kept on its row for whoever works on it next. */
export class RunHosts {
  readonly #services: Pick<Services, 'orm'>;
  readonly #run: Pick<CrawlerRun, 'id' | 'epoch'>;
  readonly #hosts: Record<string, RunHost>;

  constructor(services: Pick<Services, 'orm'>, run: Pick<CrawlerRun, 'id' | 'epoch' | 'hosts'>) {
    this.#services = services;
    this.#run = run;
    this.#hosts = { ...run.hosts };
  }

  isDown(host: string): boolean {
    return this.#hosts[host]?.is_down === true;
  }

  /** The sibling of the primary host, when the start page led there. */
  get siblings(): string[] {
    return Object.keys(this.#hosts).filter((host) => this.#hosts[host]?.is_sibling);
  }

  async note(host: string, found: RunHost): Promise<void> {
    this.#hosts[host] = { ...this.#hosts[host], ...found };
    const { id, epoch } = this.#run;
    await this.#services.orm.em
      .fork()
      .execute('update crawler_run set hosts = ?::json where id = ? and epoch = ?', [
        JSON.stringify(this.#hosts),
        id,
        epoch,
      ]);
  }
}
