import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../server-process.ts';
import type { SiteServer } from '../sites/site-server.ts';

const crawlers = '/api/v2/organizations/demo/projects/site/crawlers';

/** A run of a crawler on a server process, by its address. */
export interface ProcessRun {
  path: string;
  site: SiteServer;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
type Json = any;

/** What became of one URL, apart from how often it was requested. */
export interface RunPage {
  url: string;
  kind: string;
  state: string;
  depth: number;
  http_status: number | null;
  sha256: string | null;
  error: string | null;
  rule: string | null;
  redirect_to: string | null;
}

/** Sends a request to a server; while it, or its database, is away, again. */
export async function ask(
  server: ServerProcess,
  token: string,
  method: string,
  at: string,
  body?: object,
): Promise<Json> {
  for (const end = Date.now() + 60_000; ; ) {
    const response = await fetch(`${server.url}${at}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => null);
    if (response?.ok) return response.json();
    const isAway = response === null || response.status === 503;
    if (!isAway || Date.now() > end) throw new Error(`${method} ${at}: ${response?.status} ${await response?.text()}`);
    await sleep(100);
  }
}

/** Makes a crawler of a site and runs it. */
export async function startRun(
  server: ServerProcess,
  token: string,
  site: SiteServer,
  settings: object = {},
): Promise<ProcessRun> {
  const draft = { domain: site.origin, delay: 0, workers: 8, max_html: 0, max_errors: 10_000, ...settings };
  const { uuid } = await ask(server, token, 'POST', crawlers, draft);
  const { run_id } = await ask(server, token, 'POST', `${crawlers}/${uuid}/run`, {});
  return { path: `${crawlers}/${uuid}/runs/${run_id}`, site };
}

/** Waits for the end of a run. */
export async function untilEnded(server: ServerProcess, token: string, run: ProcessRun, seconds = 90): Promise<Json> {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const found = await ask(server, token, 'GET', run.path);
    if (found.completed_at !== null) return found;
    if (Date.now() > end) throw new Error(`Not in ${seconds} s: ${JSON.stringify(found)}`);
    await sleep(100);
  }
}

/** Everything a run came across, by address. */
export async function pagesOf(server: ServerProcess, token: string, run: ProcessRun): Promise<RunPage[]> {
  const pages: RunPage[] = [];
  for (let page = 1; ; page += 1) {
    const some: Json[] = await ask(server, token, 'GET', `${run.path}/pages?per_page=100&page=${page}`);
    for (const { url, kind, state, depth, http_status, sha256, error, rule, redirect_to } of some) {
      const at = (address: string | null) => address?.replace(run.site.origin, '') ?? null;
      pages.push({
        url: at(url) ?? '',
        kind,
        state,
        depth,
        http_status,
        sha256,
        error,
        rule,
        redirect_to: at(redirect_to),
      });
    }
    if (some.length < 100) return pages.sort((a, b) => (a.url < b.url ? -1 : 1));
  }
}

/** Counters that a disturbed run shares with one that was left alone: all but what a request sent twice adds to. */
export function steadyCounts(counts: Record<string, unknown>): Record<string, unknown> {
  const moving = new Set(['requests', 'retries', 'bytes_wire', 'bytes_stored']);
  return Object.fromEntries(Object.entries(counts).filter(([name]) => !moving.has(name)));
}

/** How many requests of a log were for an address that had been requested before. */
export const repeats = (site: SiteServer): number => site.paths().length - new Set(site.paths()).size;

export const sha256 = (body: string | Buffer): string => createHash('sha256').update(body).digest('hex');
