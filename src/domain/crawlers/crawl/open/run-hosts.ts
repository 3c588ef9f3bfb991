import type { Services } from '../../../services.ts';
import type { CrawlerRun, RunHost } from '../../runs/crawler-run.entity.ts';

/** Laid over what is there: of two notes at the same time none takes the other back. */
const noteSql = `
  update crawler_run set hosts = (coalesce(hosts::jsonb, '{}') || jsonb_build_object(?::text,
    coalesce(hosts::jsonb -> ?::text, '{}') || ?::jsonb))::json
  where id = ? and epoch = ?`;

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
    await this.#services.orm.em.fork().execute(noteSql, [host, host, JSON.stringify(found), id, epoch]);
  }
}
