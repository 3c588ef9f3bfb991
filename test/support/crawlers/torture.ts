import { expect } from 'vitest';
import type { CrawlUrl } from '../../../src/domain/crawlers/frontier/crawl-url.entity.ts';
import type { TestApp } from '../app.ts';
import type { SiteServer } from '../sites/site-server.ts';
import { type TortureCase, tortureSite } from '../sites/torture/torture-case.ts';
import { crawl, urlsOf } from './crawls.ts';

/** What a crawl of the cases came to. */
export interface Tortured {
  rows: Map<string, CrawlUrl>;
  requested: Set<string>;
}

/** Crawls a site of these cases to the end. */
export async function torture(
  app: TestApp,
  site: SiteServer,
  cases: readonly TortureCase[],
  settings: object = {},
): Promise<Tortured> {
  site.become(tortureSite(cases));
  const run = await crawl(app, site.host, { max_errors: 10_000, ...settings });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'done' });
  const rows = await urlsOf(app, run.id);
  return {
    rows: new Map(rows.map((row) => [row.url.replace(site.origin, ''), row])),
    requested: new Set(site.paths()),
  };
}

/** Holds a case to what it says of itself. */
export function expectOutcome(
  { rows, requested }: Tortured,
  { path, row, requested: needed = [], spared = [] }: TortureCase,
): void {
  const { sha256, ...facts } = row;
  const found = rows.get(path);
  expect(found).toMatchObject(facts);
  if ('sha256' in row) expect(found?.sha256 ?? null).toBe(sha256);
  expect(needed.filter((each) => !requested.has(each))).toEqual([]);
  expect(spared.filter((each) => requested.has(each))).toEqual([]);
}
