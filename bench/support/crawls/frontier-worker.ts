import { Crawler } from '../../../src/domain/crawlers/config/crawler.entity.ts';
import { createCrawler } from '../../../src/domain/crawlers/config/crawlers.operations.ts';
import { beginSnapshot } from '../../../src/domain/crawlers/crawl/open/provision.ts';
import type { BatchInput, RunHandle, Slot } from '../../../src/domain/crawlers/frontier/batch.ts';
import { commitBatch } from '../../../src/domain/crawlers/frontier/commit-batch.ts';
import { insertUrls } from '../../../src/domain/crawlers/frontier/insert-urls.ts';
import { Ledger } from '../../../src/domain/crawlers/frontier/ledger.ts';
import { outcomeOf } from '../../../src/domain/crawlers/frontier/outcome.ts';
import { FrontierStatistics } from '../../../src/domain/crawlers/frontier/statistics.ts';
import {
  linkKey,
  packKeys,
  priorities,
  type UrlDraft,
  urlHash,
} from '../../../src/domain/crawlers/frontier/url-draft.ts';
import { acquireRun } from '../../../src/domain/crawlers/runs/acquire-run.ts';
import { queueRun } from '../../../src/domain/crawlers/runs/queue-run.ts';
import { readConfig } from '../../../src/server/config.ts';
import { type Core, openCore } from '../../../src/server/core.ts';
import { openDatabase } from '../../../src/server/database.ts';
import { createLog } from '../../../src/server/log.ts';
import { check } from '../../benchmark.ts';
import { makeProject } from '../bench-project.ts';
import { timed } from '../statistics.ts';

/** URLs of one batch. */
const batch = 100;
const origin = 'https://www.example.com';

const draftOf = (at: number, parent_id: number | null): UrlDraft => ({
  url: `${origin}/section-${at % 97}/page-${at}.html`,
  kind: 'page',
  is_entry: parent_id === null,
  follows: true,
  depth: parent_id === null ? 0 : 1,
  priority: priorities.page,
  hop: 0,
  level: 0,
  parent_id,
  rule: null,
});

/** Takes what is to be done at the end, last first. */
type Defer = (end: () => Promise<void> | void) => void;

/** The service without a listener, on a database of its own. */
async function openService(dataDir: string, defer: Defer): Promise<Core['services']> {
  const { config } = readConfig({ PORTICO_DATA_DIR: dataDir });
  const log = createLog({ level: 'silent', redactHeaders: [] });
  const database = await openDatabase(config, log);
  defer(() => database.stop());
  const settings = { public_url: 'http://localhost', public_host: 'localhost' };
  const core = await openCore({ config, databaseUrl: database.url, log, settings });
  defer(() => core.close());
  return core.services;
}

/** A run at its beginning, with its first URLs in the frontier. */
async function beginRun(services: Core['services'], entries: number): Promise<RunHandle> {
  const call = await makeProject(services);
  await call(createCrawler, { domain: origin });
  const em = services.orm.em.fork();
  const crawler = await em.findOneOrFail(Crawler, { host: 'www.example.com' });
  const queued = await em.transactional((within) => queueRun(within, services, crawler, { trigger: 'api' }));
  const begun = queued && (await acquireRun(em, queued.id));
  if (!begun) throw new Error('the run cannot be begun');
  const { id, project_id, epoch, counts } = begun;
  return em.transactional(async (within) => {
    const snapshot = await beginSnapshot(within, { id, crawler_id: crawler.id, origin }, services.clock.now());
    const ledger = new Ledger(counts);
    await insertUrls(
      within,
      id,
      Array.from({ length: entries }, (_, at) => draftOf(at, null)),
      ledger,
    );
    await within.execute('update crawler_run set counts = ?::json where id = ?', [JSON.stringify(ledger.counts), id]);
    return { id, project_id, epoch, snapshot_id: snapshot.id, base_id: null };
  });
}

/** Works on the frontier as a slice does, with pages that need no requests. */
export class FrontierWorker {
  #services: Core['services'];
  #run: RunHandle;
  #statistics: FrontierStatistics;
  #next: number;
  #slots: Slot[] = [];

  private constructor(services: Core['services'], run: RunHandle, statistics: FrontierStatistics, next: number) {
    this.#services = services;
    this.#run = run;
    this.#statistics = statistics;
    this.#next = next;
  }

  /** A worker on a run with so many URLs to begin with, on a database of its own in that directory. */
  static async begin(dataDir: string, entries: number, defer: Defer): Promise<FrontierWorker> {
    const services = await openService(dataDir, defer);
    const handle = await beginRun(services, entries);
    return new FrontierWorker(
      services,
      handle,
      await FrontierStatistics.take(services.orm.em.fork(), handle.id),
      entries,
    );
  }

  /** Counts the URLs again, as a take-over does. @returns milliseconds */
  count(): Promise<number> {
    return timed(() => FrontierStatistics.take(this.#services.orm.em.fork(), this.#run.id));
  }

  /** URLs of the frontier, in any state. */
  get urls(): number {
    return this.#next;
  }

  /** One transaction: what was leased is done, each page with so many new links, and the next are leased. @returns milliseconds */
  async batch(links: number): Promise<number> {
    const outcomes = this.#slots.map(({ of }) => {
      const drafts = Array.from({ length: links }, () => draftOf(this.#next++, of.id));
      const link_keys = packKeys(drafts.map(({ url }) => linkKey(urlHash(url))));
      const answer = { http_status: 200, content_type: 'text/html', bytes: 15_000, sha256: '0'.repeat(64) } as const;
      return outcomeOf(of, { state: 'done', ...answer, is_html: true, change: 'new', drafts, link_keys });
    });
    const input: BatchInput = {
      run: this.#run,
      statistics: this.#statistics,
      budget: { max_hits: 0, max_html: 0, max_errors: 0, depth: -1 },
      outcomes,
      want: batch,
      delayOf: () => 0,
      isDown: () => false,
      log: [],
      rate: 0,
    };
    return timed(async () => {
      const { slots } = await commitBatch(this.#services.orm.em.fork(), this.#services, input);
      check(slots.length === batch, `${slots.length} URLs were claimed in place of ${batch}`);
      this.#slots = slots;
    });
  }
}
