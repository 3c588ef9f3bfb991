import type { CrawlFetcher } from '../../../ports/fetcher.ts';
import { fetchRobots, type RobotsAnswer } from './host-robots.ts';
import type { OpenRun } from './open-run.ts';

/** Where a run begins, and what the robots.txt there said. */
export interface Settled {
  origin: URL;
  answer: RobotsAnswer;
}

const isSecure = (movedTo: string | null, host: string) => {
  const url = movedTo === null ? null : URL.parse(movedTo);
  return url?.protocol === 'https:' && url.host === host;
};

/**
 * Settles scheme and host of a run by asking for robots.txt, which has to be known anyway: of a domain without a scheme https is tried,
 * then http, and the one that answers is taken. A host that sends everybody from http to https is crawled by https.
 */
export async function settleOrigin(
  { domain: { scheme, host }, policy, headers }: OpenRun,
  fetcher: CrawlFetcher,
  signal: AbortSignal,
  pause: (attempt: number) => Promise<void>,
): Promise<Settled> {
  const ask = async (origin: string): Promise<Settled> => ({
    origin: new URL(origin),
    answer: await fetchRobots({ fetcher, origin, request: { headers: headers(true).headers, policy }, signal, pause }),
  });
  if (scheme === 'https') return ask(`https://${host}`);
  if (scheme === null) {
    // Whoever does not answer at all there is asked once: many hosts speak http alone.
    const secure = await fetcher
      .fetch({ url: `https://${host}/robots.txt`, headers: headers(true).headers, policy, signal, read: 'none' })
      .then(({ ok }) => ok);
    if (secure) return ask(`https://${host}`);
  }
  const plain = await ask(`http://${host}`);
  return isSecure(plain.answer.movedTo, host) ? { ...plain, origin: new URL(`https://${host}`) } : plain;
}
