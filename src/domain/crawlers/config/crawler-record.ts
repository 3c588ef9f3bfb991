import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { ProjectContext } from '../../operation.ts';
import { CrawlerRun } from '../runs/crawler-run.entity.ts';
import { runRecords } from '../runs/run-record.ts';
import { standingsOf } from '../verification/standing.ts';
import { configYaml, urlsListYaml } from './config-yaml.ts';
import { crawlDefaults } from './crawl-defaults.ts';
import type { Crawler } from './crawler.entity.ts';
import type { crawler } from './crawler-record.schema.ts';
import { openCrawlerSecrets } from './crawler-secrets.ts';

type Record = z.output<typeof crawler>;
type Context = Pick<ProjectContext, 'em' | 'services' | 'organization' | 'project' | 'grant'>;

/** The newest run of each crawler that has one, by the crawler. */
async function lastRunsOf(em: EntityManager, rows: readonly Crawler[]) {
  const newest = await em.execute<{ id: number }[]>(
    `select max(id) as id from crawler_run
     where crawler_id in (select id::integer from unnest(string_to_array(?, ' ')) as id) group by crawler_id`,
    [rows.map(({ id }) => id).join(' ')],
  );
  const runs = await em.find(CrawlerRun, { id: { $in: newest.map(({ id }) => id) } }, { refresh: true });
  return new Map((await runRecords(em, runs)).map((run) => [run.crawler_config_id, run]));
}

/** Crawlers as the caller may see them, in the order given: what may hold credentials only with edit_crawlers. */
export async function crawlerRecords(context: Context, rows: readonly Crawler[]): Promise<Record[]> {
  const { em, services, organization, project, grant } = context;
  const defaults = crawlDefaults(services.settings, organization);
  const standing = await standingsOf(em, services.settings, organization);
  const lastRuns = await lastRunsOf(em, rows);
  const seesSecrets = grant.permissions.has('edit_crawlers');
  return Promise.all(
    rows.map(async (row) => {
      const secrets = seesSecrets ? await openCrawlerSecrets(services, project, row) : null;
      const { start_urls_unset: _, ...settings } = row.settings;
      const { state, method, checked_at } = standing(row.host);
      return {
        id: row.id,
        uuid: row.uuid,
        project_id: row.project_id,
        config: configYaml(row, secrets?.headers ?? {}, defaults),
        urls_list: urlsListYaml(row),
        domain_verified: state === 'verified' ? 1 : 0,
        domain: row.domain,
        name: row.name,
        ...settings,
        max_html: settings.max_html ?? defaults.max_html,
        user_agent: settings.user_agent ?? defaults.user_agent,
        ...secrets,
        merge_domains: settings.allowed_domains.length > 0,
        verification: { state, method, checked_at },
        published_snapshot_id: row.published_snapshot_id ?? null,
        last_run: lastRuns.get(row.id) ?? null,
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: row.deleted_at ?? null,
      };
    }),
  );
}

/** One crawler as the caller may see it. */
export async function crawlerRecord(context: Context, row: Crawler): Promise<Record> {
  const [record] = await crawlerRecords(context, [row]);
  return record as Record;
}
