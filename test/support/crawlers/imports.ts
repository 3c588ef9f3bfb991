import { snapshotImportJobFor } from '../../../src/jobs/job-handlers.ts';
import type { Answer, TestApp } from '../app.ts';
import { makeCrawler, makeSnapshot, type Page } from './snapshots.ts';

const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';
const publish = { auto: true, max_lost_percent: 100, max_error_percent: 100 };

/** Snapshots of one crawler, and what copies them into `main`. */
export interface Imports {
  crawler: { id: number };
  /** Seals a snapshot of some pages. @returns its id */
  capture(pages: Record<string, Page>): Promise<number>;
  /** Asks for an import into the directory `site`. */
  start(snapshot: number, body?: object): Promise<Answer>;
  /** Does what was requested, as a worker would. */
  work(id: number, signal?: AbortSignal): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into records of every shape
  read(id: number): Promise<any>;
  /** How many commits `main` has. */
  commits(): Promise<number>;
}

/** Makes a crawler and puts `main` back to `head`. */
export async function beginImports(app: TestApp, head: string): Promise<Imports> {
  const crawler = await makeCrawler(app);
  const git = await app.repository();
  await git.resetBranch('main', { from: (await git.head('main')) ?? '', to: head });
  return {
    crawler,
    async capture(pages) {
      const settings = { publish, allowed_domains: ['docs.example.com'] };
      return (await makeSnapshot(app, crawler.id, pages, { settings }))?.id ?? 0;
    },
    start(snapshot, body = {}) {
      const input = { branch: 'main', directory: 'site', ...body };
      return app.ask('POST', `${crawlers}/${crawler.id}/snapshots/${snapshot}/import`, { body: input });
    },
    work: (import_id, signal = new AbortController().signal) =>
      snapshotImportJobFor(app.services).handle({ import_id }, signal),
    read: async (id) => (await app.ask('GET', `${crawlers}/${crawler.id}/imports/${id}`)).body,
    commits: async () => git.countCommits({ from: (await git.head('main')) ?? '', limit: 1000 }),
  };
}
