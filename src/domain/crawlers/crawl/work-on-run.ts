import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../../services.ts';
import { asUnavailable, isAway } from '../../unavailable.ts';
import { LostRun } from '../frontier/turn/run-row.ts';
import { acquireRun } from '../runs/acquire-run.ts';
import type { CrawlerRun } from '../runs/crawler-run.entity.ts';
import type { RunEnding } from '../runs/end-run.ts';
import { keepAlive } from '../runs/keep-alive.ts';
import { keepCookies } from '../runs/run-cookies.ts';
import { conclude } from './conclude.ts';
import type { SliceStop } from './crawling.ts';
import { openRun } from './open/open-run.ts';
import { openSite } from './open/open-site.ts';
import { startRun } from './open/provision.ts';
import { RunHosts } from './open/run-hosts.ts';
import type { SliceEnd } from './slice/ending.ts';
import type { Slice } from './slice/slice.ts';
import { sliceOf } from './slice/slice-of.ts';
import { type CrawlTiming, usualTiming } from './timing.ts';

const ended = (ending: RunEnding): SliceEnd => ({ kind: 'ended', ending });
const canceled: RunEnding = { status: 'canceled', reason: 'user', message: null };
const internal: RunEnding = { status: 'failed', reason: 'internal', message: 'A fault of the server, see its log' };
const browserUnavailable = (message: string): RunEnding => ({
  status: 'failed',
  reason: 'browser_unavailable',
  message,
});

/** What Chromium would have to do. */
const needsBrowser = ({ settings: { browser_mode, assets } }: CrawlerRun) =>
  browser_mode || assets.network_intercept.enabled;

/** One worker's time with a run. */
class Work {
  readonly #services: Services;
  readonly #timing: CrawlTiming;
  readonly #abort = new AbortController();
  #slice: Slice | undefined;

  constructor(services: Services, timing: CrawlTiming) {
    this.#services = services;
    this.#timing = timing;
  }

  stop(reason: SliceStop): void {
    if (this.#slice) this.#slice.stop(reason);
    else this.#abort.abort(reason);
  }

  /** Brings the run to its first URLs, when it has not come so far, and works on it for a while. */
  async #work(run: CrawlerRun): Promise<SliceEnd> {
    const { signal } = this.#abort;
    const services = this.#services;
    const timing = this.#timing;
    const open = await openRun(services.orm.em.fork(), services, run, signal);
    if (!open) return ended({ ...canceled, reason: 'crawler_deleted' });
    const browser = needsBrowser(run) ? await services.browser.begin() : null;
    if (browser?.ok === false) return ended(browserUnavailable(browser.message));
    const userAgent = browser?.userAgent ?? null;
    const pause = (attempt: number) => sleep(attempt * timing.robotsRetry, undefined, { signal });
    const parts = { services, open, hosts: new RunHosts(services, run), timing, log: [], signal, pause, userAgent };
    const { site, failure } = await openSite(parts);
    if (run.status === 'provisioning') {
      if (failure) return ended(failure);
      await startRun(services, open, site, parts.log.splice(0));
    }
    const endCookies = await keepCookies(services, run, open.organization_id, services.crawling.cookiesOf(run.id));
    try {
      this.#slice = await sliceOf(parts, site);
      if (signal.aborted) this.#slice.stop(signal.reason);
      return await this.#slice.work();
    } finally {
      await endCookies();
    }
  }

  async #begin(run: CrawlerRun): Promise<SliceEnd> {
    const { signal } = this.#abort;
    try {
      return await this.#work(run);
    } catch (thrown) {
      const error = asUnavailable(thrown);
      if (error instanceof LostRun) return { kind: 'lost' };
      if (signal.aborted) return signal.reason === 'cancel' ? ended(canceled) : { kind: 'next' };
      this.#services.log.error({ err: error, run: run.id }, 'a run could not go on');
      // With the database away nothing can be said: whoever finds it back goes on.
      return isAway(error) ? { kind: 'lost' } : ended(internal);
    }
  }

  async on(run_id: number): Promise<boolean> {
    const services = this.#services;
    const run = await acquireRun(services.orm.em.fork(), run_id);
    if (!run) return false;
    if (run.takeovers > 0) services.metrics.crawlTakeover();
    const endBeat = keepAlive(services, run, (heard) => {
      if (heard === 'stop') this.#slice?.look();
      else this.stop(heard);
    });
    services.metrics.crawlRuns(1);
    const end = await this.#begin(run).finally(() => {
      services.metrics.crawlRuns(-1);
      endBeat();
    });
    await conclude(services, run, end);
    return true;
  }
}

/**
 * Works on a run for a while, when it is nobody else's: begins it, goes on where the last worker was, or ends it.
 * @returns whether it was worked on
 */
export async function workOnRun(
  services: Services,
  run_id: number,
  timing: CrawlTiming = usualTiming,
): Promise<boolean> {
  const { crawling } = services;
  if (crawling.closing || crawling.has(run_id)) return false;
  const work = new Work(services, timing);
  return crawling.run(
    run_id,
    (reason) => work.stop(reason),
    () => work.on(run_id),
  );
}
