/** Crawlers, their runs, schedules and snapshots, and the notifications they send. */
import { z } from 'zod';
import {
  createCrawler,
  deleteCrawler,
  getCrawler,
  getCrawlerSummary,
  getPublishedSnapshots,
  listCrawlerSummaries,
  listCrawlers,
  updateCrawler,
} from '../../domain/crawlers/config/crawlers.operations.ts';
import { testUrl } from '../../domain/crawlers/config/test-url.operations.ts';
import { cancelRun, runCrawler, stopRun } from '../../domain/crawlers/runs/change-runs.operations.ts';
import { terminalStatuses } from '../../domain/crawlers/runs/crawler-run.entity.ts';
import { runSubject } from '../../domain/crawlers/runs/run-feed.ts';
import {
  getRun,
  getRunProgress,
  listRunLogLines,
  listRunPages,
  listRuns,
  mostLines,
} from '../../domain/crawlers/runs/runs.operations.ts';
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listFires,
  listSchedulesOf,
  previewSchedule,
  updateSchedule,
} from '../../domain/crawlers/schedules/schedules.operations.ts';
import { scheduleId } from '../../domain/crawlers/schedules/schedules.schema.ts';
import { listBrokenLinks } from '../../domain/crawlers/snapshots/broken-links.operations.ts';
import { diffSnapshots } from '../../domain/crawlers/snapshots/diff-snapshots.operations.ts';
import { getImport, importSnapshot } from '../../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import {
  deleteSnapshot,
  getSnapshot,
  listSnapshotEntries,
  listSnapshots,
  publishSnapshot,
  updateSnapshot,
} from '../../domain/crawlers/snapshots/snapshots.operations.ts';
import {
  checkVerification,
  getVerification,
  startVerification,
} from '../../domain/crawlers/verification/verification.operations.ts';
import {
  getDelivery,
  listDeliveries,
  resendDelivery,
  revealWebhookSecret,
  rotateWebhookSecret,
  testWebhook,
} from '../../domain/notifications/deliveries.operations.ts';
import type { EventSubject } from '../../ports/event-feed.ts';
import type { GraphqlContext } from '../context.ts';
import { located, placeOf } from '../place.ts';
import type { Source } from '../stream/follow.ts';
import { batch, edge, field, link, mutation, node, object, type Row, subscription } from '../table.ts';

interface AtRun {
  organization: string;
  project: string;
  run_id: number;
}

/** A schedule by the number that records give, which REST has as a part of the path. */
const byNumber = { numbers: { crawler_schedule: scheduleId } };

const scheduleOf = ({ schedule_id }: { schedule_id: number | null }) =>
  schedule_id === null ? null : String(schedule_id);
/** 0 stands for no run. */
const lastRunOf = ({ crawler_last_run_id }: { crawler_last_run_id: number }) => crawler_last_run_id || null;

/** Settings of a crawler may be large: they are read where one of them is selected. */
const brief = { locate: getCrawlerSummary };

const isOver = (status: string) => (terminalStatuses as readonly string[]).includes(status);

/** Progress of a run until it has ended. A position is the last line of the log the client has, and the time of the run's last change. */
function runProgress({ organization, project, run_id }: AtRun, context: GraphqlContext): Source<unknown> {
  let subject: EventSubject;
  return {
    async read(after) {
      const [seq = '', changed = ''] = (after ?? '').split(' ');
      const known = /^\d{1,15}$/.test(seq) ? Number(seq) : 0;
      const progress = await context.run(getRunProgress, { organization, project, run_id, after: known });
      const { run } = progress;
      subject = runSubject(run);
      const position = `${progress.seq} ${run.updated_at}`;
      const isNew = changed !== run.updated_at || progress.seq !== known;
      // Lines behind a full page of the log are sent before the end.
      const hasMore = progress.log.length >= mostLines;
      return { events: isNew ? [{ position, data: progress }] : [], ended: isOver(run.last_status) && !hasMore };
    },
    watch: (wake) => context.live.events.watch(subject, wake),
  };
}

export const crawlers: readonly Row[] = [
  node('Crawler', getCrawler, { crawler: 'uuid' }),
  field('Project', 'crawlers', listCrawlers, { locate: listCrawlerSummaries }),
  field('Project', 'crawler', getCrawler, brief),
  node('CrawlerVerification', getVerification, { crawler: (_verification, { crawler }) => crawler, host: 'host' }),
  link('CrawlerVerification', 'crawler', getCrawler, {}, 'The crawler whose host it is', brief),
  field('Crawler', 'verification', getVerification, { cost: 5 }),
  edge(['Crawler', 'CrawlerRun', 'CrawlerSchedule'], 'project', 'Project', {
    description: 'The project it belongs to',
    always: true,
    resolve(record) {
      const { organization, project } = placeOf(record);
      return located({ organization, project });
    },
  }),
  field('Crawler', 'test_url', testUrl, { cost: 20 }),
  mutation('createCrawler', createCrawler),
  mutation('updateCrawler', updateCrawler),
  mutation('deleteCrawler', deleteCrawler, { payload: 'crawler' }),
  mutation('startVerification', startVerification),
  mutation('checkVerification', checkVerification),

  // A crawler's number names it as well as its UUID.
  node('CrawlerRun', getRun, { crawler: (run) => String(run.crawler_config_id), run_id: 'id' }),
  object('CrawlerRunProgress', getRunProgress, {}),
  field('Crawler', 'runs', listRuns, { cost: 5 }),
  field('Crawler', 'run', getRun),
  link('CrawlerRun', 'crawler', getCrawler, {}, 'The crawler it is of', brief),
  link('CrawlerRun', 'schedule', getSchedule, { crawler_schedule: scheduleOf }, 'The schedule that started it'),
  link('CrawlerRun', 'snapshot', getSnapshot, { snapshot: 'snapshot_id' }, 'What it captures'),
  field('CrawlerRun', 'pages', listRunPages, { cost: 10 }),
  field('CrawlerRun', 'log', listRunLogLines, { cost: 5 }),
  field('CrawlerRun', 'broken_links', listBrokenLinks, { cost: 5 }),
  object('StartedRun', runCrawler, {
    crawler: (_run, { crawler }) => crawler,
    run_id: ({ run_id }) => Number(run_id),
  }),
  field('StartedRun', 'run', getRun),
  mutation('runCrawler', runCrawler),
  mutation('stopRun', stopRun),
  mutation('cancelRun', cancelRun),

  node('CrawlerSchedule', getSchedule, {
    crawler: 'crawler_uuid',
    crawler_schedule: (schedule) => String(schedule.id),
  }),
  batch(
    'Crawler',
    'schedules',
    listSchedulesOf,
    { crawlers: ({ id }: { id: number }) => id },
    {
      description: 'List the schedules of a crawler',
      whole: true,
    },
  ),
  field('Crawler', 'schedule', getSchedule, { ...byNumber, names: { crawler_schedule: 'id' } }),
  field('Crawler', 'schedule_preview', previewSchedule),
  link('CrawlerSchedule', 'crawler', getCrawler, {}, 'The crawler it starts', brief),
  link('CrawlerSchedule', 'last_run', getRun, { run_id: lastRunOf }, 'The newest run it has started'),
  object('CrawlerFire', listFires, { crawler: (_fire, { crawler }) => crawler }),
  link('CrawlerFire', 'run', getRun, { run_id: 'run_id' }, 'The run it has started'),
  field('CrawlerSchedule', 'fires', listFires),
  mutation('createSchedule', createSchedule),
  mutation('updateSchedule', updateSchedule, byNumber),
  mutation('deleteSchedule', deleteSchedule, { ...byNumber, payload: 'schedule' }),

  node('Snapshot', getSnapshot, { crawler: (snapshot) => String(snapshot.crawler_id), snapshot: 'id' }),
  link('Snapshot', 'crawler', getCrawler, {}, 'The crawler it was made by', brief),
  link('Snapshot', 'run', getRun, { run_id: 'run_id' }, 'The run that captured it'),
  link('Snapshot', 'base', getSnapshot, { snapshot: 'base_id' }, 'The snapshot with which it was compared'),
  field('Crawler', 'snapshots', listSnapshots, { cost: 5 }),
  field('Crawler', 'snapshot', getSnapshot, { names: { snapshot: 'id' } }),
  batch(
    'Crawler',
    'published_snapshot',
    getPublishedSnapshots,
    {
      crawlers: ({ id, published_snapshot_id }: { id: number; published_snapshot_id: number | null }) =>
        published_snapshot_id === null ? null : id,
    },
    { description: 'The copy of the site that is live' },
  ),
  node('SnapshotImport', getImport, { crawler: (_import, { crawler }) => crawler, import: 'id' }),
  link('SnapshotImport', 'crawler', getCrawler, {}, 'The crawler whose snapshot it imports', brief),
  link('SnapshotImport', 'snapshot', getSnapshot, { snapshot: 'snapshot_id' }, 'What is imported'),
  field('Crawler', 'import', getImport, { names: { import: 'id' } }),
  field('Snapshot', 'entries', listSnapshotEntries, { cost: 5 }),
  field('Snapshot', 'diff', diffSnapshots, { cost: 5 }),
  mutation('publishSnapshot', publishSnapshot),
  mutation('updateSnapshot', updateSnapshot),
  mutation('deleteSnapshot', deleteSnapshot, { payload: 'snapshot' }),
  mutation('importSnapshot', importSnapshot),

  node('NotificationDelivery', getDelivery, { crawler: (_delivery, { crawler }) => crawler, delivery: 'id' }),
  link('NotificationDelivery', 'crawler', getCrawler, {}, 'The crawler it is about', brief),
  field('Crawler', 'deliveries', listDeliveries),
  field('Crawler', 'delivery', getDelivery, { names: { delivery: 'id' } }),
  mutation('resendDelivery', resendDelivery),
  mutation('testWebhook', testWebhook),
  mutation('revealWebhookSecret', revealWebhookSecret),
  mutation('rotateWebhookSecret', rotateWebhookSecret),

  subscription('crawlerRunProgress', 'CrawlerRunProgress', {
    description: `${getRunProgress.summary}: at once, as it goes on, and at its end`,
    args: { run_id: z.int32() },
    source: runProgress,
  }),
];
