import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import type { BrowserAnswer } from '../../../ports/browser.ts';
import type { CrawlerServices } from '../crawlers.ts';
import type { LeasedUrl } from '../frontier/lease.ts';
import { urlHash } from '../frontier/url-draft.ts';
import type { CrawlerRun } from '../runs/crawler-run.entity.ts';
import type { BaseEntry } from './fetch/base-entries.ts';
import type { OutlinkStore } from './fetch/outlinks.ts';

/** What the browser of a run is put together from. */
export interface BrowserOptions {
  services: CrawlerServices;
  run: CrawlerRun;
  organization_id: number;
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
  baseOf(of: LeasedUrl): Promise<BaseEntry | undefined>;
  /** The same as an answer; null: its content is larger than a page is given. */
  answerOf(of: LeasedUrl, base: BaseEntry): Promise<BrowserAnswer | null>;
}

/** What a run has stored for a URL: its response, its redirect target, or that it has no response. */
export type Known = { kind: 'answer'; answer: BrowserAnswer } | { kind: 'redirect'; to: string } | { kind: 'none' };

/** A larger body is not given to pages; bytes. */
export const mostShown = 16 * 2 ** 20;

/** Reads a blob whole; null when it is larger than a page is given. */
async function readWhole(blobs: BlobStore, sha256: string): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of blobs.read(sha256)) {
    size += chunk.length;
    if (size > mostShown) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const rowSql = `
  select state, found.http_status, redirect_to, entry.content_type, entry.headers, entry.sha256
  from (select * from crawl_url where run_id = ? and url_hash = ?) as found
  left join (select url_hash, content_type, headers, sha256 from snapshot_entry where snapshot_id = ?) as entry using (url_hash)`;

interface Row {
  state: string;
  http_status: number | null;
  redirect_to: string | null;
  content_type: string | null;
  headers: Record<string, string> | null;
  sha256: string | null;
}

const headersSql = 'select headers from snapshot_entry where snapshot_id = $1 and url_hash = $2';

const shownHeaders = ({ headers, content_type }: Pick<Row, 'headers' | 'content_type'>) => ({
  ...headers,
  ...(content_type !== null && { 'content-type': content_type }),
});

/** What the run has captured of a URL; null when it still has to be fetched. A run fetches each URL once. */
export async function capturedBefore(
  em: EntityManager,
  blobs: BlobStore,
  { run_id, snapshot_id }: { run_id: number; snapshot_id: number },
  url: string,
): Promise<Known | null> {
  const [row] = await em.execute<Row[]>(rowSql, [run_id, urlHash(url), snapshot_id]);
  if (row?.state === 'error') return { kind: 'none' };
  if (row?.state !== 'done' || row.http_status === null) return null;
  if (row.redirect_to !== null) return { kind: 'redirect', to: row.redirect_to };
  const body = row.sha256 === null ? Buffer.alloc(0) : await readWhole(blobs, row.sha256);
  if (body === null) return { kind: 'none' };
  // What is not kept, like a 404, is shown without its body.
  return { kind: 'answer', answer: { status: row.http_status, headers: shownHeaders(row), body } };
}

/** What an earlier snapshot holds of a URL, as an answer; null when its content is larger than a page is given. */
export async function earlierAnswer(
  em: EntityManager,
  blobs: BlobStore,
  snapshot_id: number,
  url: string,
  { http_status, content_type, sha256 }: Pick<BaseEntry, 'http_status' | 'content_type' | 'sha256'>,
): Promise<BrowserAnswer | null> {
  const body = sha256 === null ? null : await readWhole(blobs, sha256);
  if (body === null) return null;
  const [entry] = await executeBound<Pick<Row, 'headers'>>(em, headersSql, [snapshot_id, urlHash(url)]);
  return { status: http_status, headers: shownHeaders({ headers: entry?.headers ?? null, content_type }), body };
}

/** Bytes of bodies that are kept at hand. */
const mostBytes = 32 * 2 ** 20;

/** Resources that pages of a run share: each is fetched once, even when several pages load it at the same time. */
export class SharedAnswers {
  readonly #kept = new LRUCache<string, Known>({
    maxSize: mostBytes,
    sizeCalculation: (known) => 500 + (known.kind === 'answer' ? known.answer.body.byteLength : 0),
  });
  readonly #pending = new Map<string, Promise<Known>>();

  /** @param ask fetches the URL; not called when its answer is cached or already being fetched */
  async get(url: string, ask: () => Promise<Known>): Promise<Known> {
    const kept = this.#kept.get(url) ?? this.#pending.get(url);
    if (kept) return kept;
    const asking = ask().finally(() => this.#pending.delete(url));
    this.#pending.set(url, asking);
    const known = await asking;
    this.#kept.set(url, known);
    return known;
  }
}

/** Requests a browser's page may send beside claimed URLs: never more than max_hits, across crashes too. */
export class RequestBudget {
  readonly #orm: Services['orm'];
  readonly #run: Pick<CrawlerRun, 'id' | 'epoch'>;
  readonly #most: number;

  /** @param most `max_hits`; 0: no limit */
  constructor({ orm }: Pick<Services, 'orm'>, run: Pick<CrawlerRun, 'id' | 'epoch'>, most: number) {
    this.#orm = orm;
    this.#run = run;
    this.#most = most;
  }

  async reserve(): Promise<boolean> {
    if (this.#most === 0) return true;
    const { id, epoch } = this.#run;
    const rows = await this.#orm.em.fork().execute<unknown[]>(
      `update crawler_run set hits_reserved = hits_reserved + 1
       where id = ? and epoch = ? and hits_reserved < ? returning id`,
      [id, epoch, this.#most],
    );
    return rows.length > 0;
  }

  /** Gives one back that surely was not sent. */
  async refund(): Promise<void> {
    if (this.#most === 0) return;
    const { id, epoch } = this.#run;
    await this.#orm.em
      .fork()
      .execute('update crawler_run set hits_reserved = hits_reserved - 1 where id = ? and epoch = ?', [id, epoch]);
  }
}
