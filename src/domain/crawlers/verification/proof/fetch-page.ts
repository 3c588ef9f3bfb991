import { DomainError } from '../../../errors.ts';
import type { GuardedHttp, HttpPolicy, HttpResponse } from '../../../ports/http.ts';
import { hostOf, siblingOf } from '../../config/host.ts';

const maxRedirects = 3;
const timeouts = { connect: 10_000, headers: 10_000, idle: 10_000, total: 20_000 };

/** The beginning of a body, or why there is none to look at. */
export type Page =
  | { outcome: 'page'; text: string; isWhole: boolean; url: string }
  | { outcome: 'absent' | 'unreachable'; detail: string };

interface Request {
  http: GuardedHttp;
  policy: HttpPolicy;
  signal: AbortSignal;
  host: string;
  path: string;
  /** Bytes to read. */
  limit: number;
}

/** Whether a redirect stays on the host, or its apex or www sibling, at the same port. */
function stays(url: URL, host: string): boolean {
  const there = hostOf(url.origin);
  const wanted = hostOf(host);
  if (!there || !wanted) return false;
  return there.port === wanted.port && [wanted.name, siblingOf(wanted.name)].includes(there.name);
}

async function readStart(answer: HttpResponse, limit: number): Promise<{ text: string; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) break;
  }
  // The token is ASCII: any other reading of the bytes could only hide it.
  return { text: Buffer.concat(chunks).subarray(0, limit).toString('latin1'), isWhole: size <= limit };
}

async function follow(start: URL, { http, policy, signal, host, limit }: Request): Promise<Page> {
  let url = start;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const headers = { 'accept-encoding': 'identity' };
    const answer = await http.request(url, { policy, signal, timeouts, headers });
    const { location } = answer.headers;
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.status);
    if (!isRedirect) {
      if (answer.status === 200) return { outcome: 'page', ...(await readStart(answer, limit)), url: url.href };
      answer.discard();
      const outcome = answer.status >= 500 || answer.status === 429 ? 'unreachable' : 'absent';
      return { outcome, detail: `${url.href} answered ${answer.status}` };
    }
    answer.discard();
    const next = typeof location === 'string' ? URL.parse(location, url.href) : null;
    if (!next || !stays(next, host)) return { outcome: 'absent', detail: `${url.href} leads elsewhere` };
    url = next;
  }
  return { outcome: 'absent', detail: `${start.href} has more than ${maxRedirects} redirects` };
}

/** What the network says of a peer that could not be asked; a caller who has gone, and our own faults, are thrown on. */
function asUnreachable(error: unknown, url: URL, signal: AbortSignal): Page {
  if (signal.aborted || !(error instanceof DomainError)) throw error;
  return { outcome: 'unreachable', detail: `${url.href} could not be fetched: ${error.message}` };
}

/** Fetches a path of a host by https and, while that is no page, by http; the last page is what counts, else the first absence. */
export async function* fetchPages(request: Request): AsyncGenerator<Page> {
  for (const scheme of ['https', 'http']) {
    const url = new URL(request.path, `${scheme}://${request.host}/`);
    try {
      yield await follow(url, request);
    } catch (error) {
      yield asUnreachable(error, url, request.signal);
    }
  }
}
