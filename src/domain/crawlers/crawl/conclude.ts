import type { Services } from '../../services.ts';
import { handBack } from '../runs/acquire-run.ts';
import type { CrawlerRun } from '../runs/crawler-run.entity.ts';
import { endRun } from '../runs/end-run.ts';
import { holdCrawlerOf, letGo } from '../runs/hold-crawler.ts';
import { wakeRun } from '../runs/queue-run.ts';
import { finish } from './finish.ts';
import type { SliceEnd } from './slice/ending.ts';

/** The end of a slice as rows say it: the run's last state, or that the next slice may begin. */
export async function conclude(services: Services, run: CrawlerRun, end: SliceEnd): Promise<void> {
  const { crawling, orm } = services;
  if (end.kind !== 'next') {
    crawling.forget(run.id);
    await services.browser.forget(run.id);
  }
  if (end.kind === 'lost') return;
  await orm.em.fork().transactional(async (em) => {
    await letGo(em);
    if (end.kind === 'ended') {
      await holdCrawlerOf(em, run.id);
      return void (await endRun(em, services, run, await finish(em, run, end.ending)));
    }
    await handBack(em, run);
    if (!crawling.closing) await wakeRun(em, services, run.id);
  });
}
