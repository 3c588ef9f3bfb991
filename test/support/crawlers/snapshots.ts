import { createHash, randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { initialSettings } from '../../../src/domain/crawlers/config/crawler.schema.ts';
import { beginSnapshot } from '../../../src/domain/crawlers/crawl/open/provision.ts';
import { noCounts } from '../../../src/domain/crawlers/runs/run-counts.ts';
import type { EndedRun } from '../../../src/domain/crawlers/snapshots/seal-checks.ts';
import { sealSnapshot } from '../../../src/domain/crawlers/snapshots/seal-snapshot.ts';
import { type EntryDraft, insertEntries } from '../../../src/domain/crawlers/snapshots/snapshot-entries.ts';
import type { AllServices } from '../../../src/domain/services.ts';

/** Whatever has services. */
interface Serving {
  services: AllServices;
}

export const origin = 'https://www.example.com';

/** One captured URL of a made-up site: a page by its text, or whatever else it is. */
export type Page =
  | string
  | {
      body?: string | Buffer;
      type?: string | null;
      charset?: string;
      kind?: EntryDraft['kind'];
      status?: number;
      redirect?: string;
      headers?: Record<string, string>;
      outlinks?: string;
    };

export const urlHash = (url: string) => createHash('sha256').update(url).digest();

const settings: EndedRun['settings'] = {
  start_urls: ['/'],
  urls: [],
  status_ok: [200],
  allowed_domains: [],
  publish: { auto: true, max_lost_percent: 10, max_error_percent: 10 },
};

/** Makes a crawler of project `site` that nothing has run yet. */
export async function makeCrawler(
  { services }: Serving,
  { project = 'site', webhook_url }: { project?: string; webhook_url?: string } = {},
): Promise<{ id: number; uuid: string }> {
  const now = services.clock.now();
  const uuid = randomUUID();
  const [row] = await services.orm.em.fork().execute<{ id: number }[]>(
    `insert into crawler (uuid, project_id, name, domain, host, settings, created_at, updated_at)
     select ?, id, 'Example', ?, 'www.example.com', ?::json, ?, ? from project where machine_name = ? returning id`,
    [
      uuid,
      origin,
      JSON.stringify({ ...initialSettings(), ...settings, ...(webhook_url && { webhook_url }) }),
      now,
      now,
      project,
    ],
  );
  return { id: row?.id ?? 0, uuid };
}

export interface MadeRun {
  mode?: EndedRun['mode'];
  status?: EndedRun['status'];
  origin?: string;
  settings?: Partial<EndedRun['settings']>;
  /** Rows of the frontier that are no entries: URLs and the status, or the error, they ended in. */
  failed?: Record<string, number | string>;
}

async function storeEntry({ blobs }: AllServices, url: string, page: Page, run_id: number): Promise<EntryDraft> {
  const given = typeof page === 'string' ? { body: page } : page;
  const {
    body,
    type = 'text/html; charset=utf-8',
    kind = 'page',
    status,
    redirect,
    headers,
    charset,
    outlinks,
  } = given;
  const kept = redirect === undefined ? await blobs.put(Buffer.from(body ?? '')) : null;
  const links = outlinks === undefined ? null : await blobs.put(Buffer.from(outlinks));
  return {
    url,
    url_hash: urlHash(url),
    kind,
    http_status: status ?? (redirect === undefined ? 200 : 301),
    content_type: redirect === undefined ? type : null,
    charset: charset ?? 'utf-8',
    headers: headers ?? null,
    sha256: kept?.sha256 ?? null,
    bytes: kept?.size ?? 0,
    redirect_to: redirect ?? null,
    etag: null,
    last_modified: null,
    outlinks_sha256: links?.sha256 ?? null,
    request_hash: null,
    first_seen_run: run_id,
    fetched_at: new Date('2026-03-01T08:00:00.123Z'),
  };
}

async function makeRun(em: EntityManager, crawler_id: number, run: MadeRun): Promise<number> {
  const [row] = await em.execute<{ id: number }[]>(
    `insert into crawler_run (crawler_id, project_id, status, task_id, settings, secrets_version, mode, origin, trigger, counts,
       created_at, updated_at)
     select id, project_id, 'completed', gen_random_uuid(), settings, 1, ?, ?, 'api', ?::json, now(), now()
     from crawler where id = ? returning id`,
    [run.mode ?? 'full', run.origin ?? origin, JSON.stringify(noCounts()), crawler_id],
  );
  return row?.id ?? 0;
}

async function noteUrls(em: EntityManager, run_id: number, urls: Iterable<[string, number | string]>): Promise<void> {
  const rows = [...urls].map(([url, outcome]) => ({
    url,
    hash: urlHash(url).toString('hex'),
    http_status: typeof outcome === 'number' ? outcome : null,
    error: typeof outcome === 'string' ? outcome : null,
  }));
  await em.execute(
    `insert into crawl_url (run_id, url_hash, url, host, kind, depth, priority, state, http_status, error)
     select ?, decode(hash, 'hex'), url, 'h', 'page', 0, 0, case when error is null then 'done' else 'error' end, http_status, error
     from json_to_recordset(?::json) as row (url text, hash text, http_status integer, error text)`,
    [run_id, JSON.stringify(rows)],
  );
}

/** A run as it stands just before its last transaction: everything captured, nothing sealed. */
export async function crawl(
  { services }: Serving,
  crawler_id: number,
  pages: Record<string, Page>,
  run: MadeRun = {},
): Promise<EndedRun> {
  const em = services.orm.em.fork();
  const from = run.origin ?? origin;
  const run_id = await makeRun(em, crawler_id, run);
  const begun = await beginSnapshot(em, { id: run_id, crawler_id, origin: from }, services.clock.now());
  const entries = await Promise.all(
    Object.entries(pages).map(([at, page]) => storeEntry(services, new URL(at, from).href, page, run_id)),
  );
  await insertEntries(em, begun.id, entries);
  await noteUrls(
    em,
    run_id,
    entries.map(({ url, http_status }) => [url, http_status]),
  );
  await noteUrls(
    em,
    run_id,
    Object.entries(run.failed ?? {}).map(([at, outcome]) => [new URL(at, from).href, outcome]),
  );
  return {
    id: run_id,
    crawler_id,
    snapshot_id: begun.id,
    mode: run.mode ?? 'full',
    status: run.status ?? 'completed',
    origin: from,
    settings: { ...settings, ...run.settings },
  };
}

/** Ends a run as the last transaction of a crawl does. */
export const endRun = ({ services }: Serving, run: EndedRun) =>
  services.orm.em.fork().transactional((em) => sealSnapshot(em, services, run));

/** A whole run: what it captured is sealed, and published when it is sound. */
export const makeSnapshot = async (app: Serving, crawler_id: number, pages: Record<string, Page>, run: MadeRun = {}) =>
  endRun(app, await crawl(app, crawler_id, pages, run));
