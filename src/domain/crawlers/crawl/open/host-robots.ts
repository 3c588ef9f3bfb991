import type { EntityManager } from '@mikro-orm/postgresql';
import type { CrawlFetcher, FetchRequest } from '../../../../ports/fetcher.ts';
import { isDowngrade } from '../../config/host.ts';
import {
  allowAll,
  maxRobotsBytes,
  maxRobotsHops,
  parseRobots,
  type RobotsRules,
  robotsAnswer,
  robotsText,
} from '../../urls/robots.ts';

/** What a host's robots.txt means. `unreachable`: nothing is known, so nothing is allowed (RFC 9309 section 2.3.1.4). */
export type Robots = { state: 'known'; rules: RobotsRules } | { state: 'unreachable'; message: string };

const tries = 3;

/** Where to ask, and how. */
export interface RobotsRequest {
  fetcher: Pick<CrawlFetcher, 'fetch'>;
  /** Scheme and host. */
  origin: string;
  request: Pick<FetchRequest, 'headers' | 'policy'>;
  signal: AbortSignal;
  /** Waits before another try: the second is number 1. */
  pause(attempt: number): Promise<void>;
}

/** A response to a request for robots.txt, or why it failed. */
export interface RobotsAnswer {
  robots: Robots;
  /** Its text, to be kept; null: everything is allowed. */
  text: string | null;
  /** Where the first request was redirected to; null when it was not. */
  movedTo: string | null;
}

const allowed = (movedTo: string | null): RobotsAnswer => ({
  robots: { state: 'known', rules: allowAll },
  text: null,
  movedTo,
});

/** What any host gets of a request's headers, and its own over plain http after https: the others may hold credentials. */
function plainHeaders({ accept, 'user-agent': agent }: FetchRequest['headers']): Record<string, string> {
  return { ...(accept !== undefined && { accept }), ...(agent !== undefined && { 'user-agent': agent }) };
}

/** @returns why there is no usable answer, as text */
async function ask({ fetcher, origin, request, signal }: RobotsRequest): Promise<RobotsAnswer | string> {
  let url = `${origin}/robots.txt`;
  const own = new URL(origin);
  let movedTo: string | null = null;
  for (let hop = 0; hop <= maxRobotsHops; hop += 1) {
    const at = new URL(url);
    const isTrusted = at.host === own.host && !isDowngrade(own, at);
    const headers = isTrusted ? request.headers : plainHeaders(request.headers);
    const limits = { read: maxRobotsBytes };
    const answer = await fetcher.fetch({ ...request, headers, url, signal, limits, read: 'all' });
    if (!answer.ok) return answer.message;
    const verdict = robotsAnswer(answer.status);
    if (verdict === 'retry') return `robots.txt was answered with ${answer.status}`;
    if (verdict === 'allow_all') break;
    if (verdict === 'read') {
      const text = robotsText(answer.bytes ?? new Uint8Array()).replaceAll('\u0000', '');
      return { robots: { state: 'known', rules: await parseRobots(text) }, text, movedTo };
    }
    const next = answer.location === null ? null : URL.parse(answer.location, url);
    if (!next || !/^https?:$/.test(next.protocol)) break;
    url = next.href;
    movedTo ??= url;
  }
  return allowed(movedTo);
}

/**
 * Fetches a host's robots.txt, in up to three attempts. These are no requests of the run: they take no slot of
 * the host, and count towards no limit.
 */
export async function fetchRobots(request: RobotsRequest): Promise<RobotsAnswer> {
  let message = '';
  for (let attempt = 0; attempt < tries; attempt += 1) {
    if (attempt > 0) await request.pause(attempt);
    const answer = await ask(request);
    if (typeof answer !== 'string') return answer;
    message = answer;
  }
  return { robots: { state: 'unreachable', message }, text: null, movedTo: null };
}

/** What was kept of a host's robots.txt, when that is less than 24 hours old. */
export async function keptRobots(em: EntityManager, project_id: number, host: string): Promise<RobotsRules | null> {
  const [row] = await em.execute<{ robots: string | null }[]>(
    `select robots from crawl_host where project_id = ? and host = ? and robots_outcome = 'known'
       and robots_fetched_at > now() - interval '24 hours'`,
    [project_id, host],
  );
  return row ? await parseRobots(row.robots ?? '') : null;
}

/** Keeps what a host answered for all runs of its project. */
export async function keepRobots(
  em: EntityManager,
  project_id: number,
  host: string,
  { text }: Pick<RobotsAnswer, 'text'>,
): Promise<void> {
  await em.execute(
    `insert into crawl_host (project_id, host, robots, robots_outcome, robots_fetched_at) values (?, ?, ?, 'known', now())
     on conflict (project_id, host) do update
       set robots = excluded.robots, robots_outcome = 'known', robots_fetched_at = excluded.robots_fetched_at`,
    [project_id, host, text],
  );
}
