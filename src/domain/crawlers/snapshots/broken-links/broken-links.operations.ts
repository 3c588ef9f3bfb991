import { z } from 'zod';
import { projectOperation } from '../../../operation.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../paging.ts';
import { crawlerName } from '../../config/crawler.schema.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { findRun } from '../../runs/run-record.ts';
import { runNumber } from '../../runs/runs.schema.ts';
import { entryKinds } from '../snapshot.entity.ts';
import { linksTo } from './links-to.ts';

const brokenLink = z
  .object({
    url: z.string(),
    kind: z.enum(entryKinds),
    http_status: z.int32().nullable(),
    error: z.string().nullable(),
    error_message: z.string().nullable(),
    link_count: z.int32().describe('Pages that link to it, over redirects too'),
    linked_from: z
      .array(
        z
          .object({
            url: z.string(),
            via: z.string().describe('Where its link leads: here, or to a redirect that does'),
          })
          .meta({ id: 'BrokenLinkSource' }),
      )
      .describe('At most 100 of them, by URL'),
  })
  .meta({ id: 'BrokenLink' });

type Row = Pick<z.output<typeof brokenLink>, 'url' | 'kind' | 'http_status' | 'error' | 'error_message'> & {
  id: string;
};

const broken = `
  from crawl_url where run_id = ? and (state = 'error' or http_status in (404, 410) or (http_status >= 400 and sha256 is null))`;

export const listBrokenLinks = projectOperation({
  name: 'crawlers.listBrokenLinks',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the URLs a run could not fetch, with the pages that link to them',
  input: z.object({ ...crawlerName, ...runNumber, ...pageInput }),
  output: pageOf(brokenLink),
  async execute({ em, project }, { crawler: name, run_id, ...paging }) {
    const crawler = await findCrawler({ em, project }, name);
    await findRun(em, crawler.id, run_id);
    const window = windowOf(paging);
    const [{ count }] = (await em.execute(`select count(*) ${broken}`, [run_id])) as [{ count: string }];
    const rows = await em.execute<Row[]>(
      `select id, url, kind, http_status, error, error_message ${broken} order by id limit ? offset ?`,
      [run_id, window.limit, window.offset],
    );
    const sources = await linksTo(
      em,
      run_id,
      rows.map(({ id }) => id),
    );
    const items = rows.map(({ id, ...row }) => ({
      ...row,
      ...(sources.get(id) ?? { link_count: 0, linked_from: [] }),
    }));
    return pageFrom(items, Number(count), window);
  },
});
