import type { BrowserAnswer } from '../../../ports/browser.ts';
import type { Services } from '../../../services.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { CrawlerRun } from '../../runs/crawler-run.entity.ts';
import type { BaseEntry } from '../fetch/base-entries.ts';
import type { OutlinkStore } from '../fetch/outlink-store.ts';
import type { RequestBudget } from './request-budget.ts';
import type { SharedAnswers } from './shared-answers.ts';

/** What the browser of a run is put together from. */
export interface BrowserOptions {
  services: Services;
  run: CrawlerRun;
  snapshot: { id: number; base_id: number | null };
  budget: RequestBudget;
  outlinks: OutlinkStore;
  /** Pages at the same time. */
  atOnce: number;
}

/** That, and what it keeps for all of its pages. */
export interface BrowserParts extends BrowserOptions {
  shared: SharedAnswers;
  /** What the newest sealed snapshot holds of a URL. */
  baseOf(of: ClaimedUrl): Promise<BaseEntry | undefined>;
  /** The same as an answer; null: its content is larger than a page is given. */
  answerOf(of: ClaimedUrl, base: BaseEntry): Promise<BrowserAnswer | null>;
}
