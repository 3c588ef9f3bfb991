import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { DnsResolver } from '../../../ports/dns.ts';
import type { GuardedHttp, HttpPolicy, HttpResponse } from '../../../ports/http.ts';
import type { CrawlLimits } from '../config/crawl-limits.ts';
import { hostOf, siblingOf } from '../config/host.ts';
import { type Finding, type ProofMethod, proofMethods } from './domain-verification.entity.ts';
import { policyFor } from './trusted-domains.ts';
import { dnsName, dnsNames, dnsText, filePath, metaName } from './verification-token.ts';

/** What one method found, and what a proof covers. */
export interface Proof extends Finding {
  /** By dns the name with all below it, else the host; only when found. */
  proved?: string;
}

/** Looks for the token in the TXT records of a host and of its registrable domain. */
async function checkDns(dns: DnsResolver, host: string, token: string): Promise<Proof> {
  const names = dnsNames(host);
  const method = 'dns' as const;
  if (names.length === 0) return { method, outcome: 'absent', detail: 'An address has no name in DNS' };
  const missing: string[] = [];
  let unreachable: string | null = null;
  for (const name of names) {
    const at = dnsName(name);
    const answer = await dns.txt(at);
    if (answer.outcome === 'unreachable') unreachable ??= `${at} could not be looked up (${answer.reason})`;
    else if (answer.outcome === 'absent') missing.push(`${at} has no TXT record`);
    else if (answer.texts.some((text) => text.trim() === dnsText(token)))
      return { method, outcome: 'found', detail: `${at} holds the token`, proved: name };
    else missing.push(`${at} has TXT records, and none is ${dnsText(token)}`);
  }
  if (unreachable !== null) return { method, outcome: 'unreachable', detail: unreachable };
  return { method, outcome: 'absent', detail: missing.join('; ') };
}

const maxRedirects = 3;
const timeouts = { connect: 10_000, headers: 10_000, idle: 10_000, total: 20_000 };

/** The beginning of a body, or why the page could not be read. */
type Page =
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

/** A network error as a result; aborts and internal errors are thrown on. */
function asUnreachable(error: unknown, url: URL, signal: AbortSignal): Page {
  if (signal.aborted || !(error instanceof DomainError)) throw error;
  return { outcome: 'unreachable', detail: `${url.href} could not be fetched: ${error.message}` };
}

/** Fetches a path of a host by https and, while that is no page, by http; the last page is what counts, else the first absence. */
async function* fetchPages(request: Request): AsyncGenerator<Page> {
  for (const scheme of ['https', 'http']) {
    const url = new URL(request.path, `${scheme}://${request.host}/`);
    try {
      yield await follow(url, request);
    } catch (error) {
      yield asUnreachable(error, url, request.signal);
    }
  }
}

const maxFile = 1_024;
const maxPage = 512 * 1_024;

/** Where to look, and how to get there. */
interface WebCheck {
  http: GuardedHttp;
  policy: HttpPolicy;
  signal: AbortSignal;
  host: string;
  token: string;
}

interface Look {
  method: 'file' | 'meta';
  path: string;
  limit: number;
  /** Why a page proves nothing; null when it does. */
  problem(page: { text: string; isWhole: boolean; url: string }): string | null;
}

/** Looks for a proof on the pages of a host: `absent` needs one answer of the site, otherwise it is `unreachable`. */
async function look({ host, token: _, ...client }: WebCheck, { method, path, limit, problem }: Look): Promise<Proof> {
  const absent: string[] = [];
  const unreachable: string[] = [];
  for await (const page of fetchPages({ ...client, host, path, limit })) {
    if (page.outcome !== 'page') (page.outcome === 'absent' ? absent : unreachable).push(page.detail);
    else {
      const fault = problem(page);
      if (fault === null) return { method, outcome: 'found', detail: `${page.url} holds the token`, proved: host };
      absent.push(`${page.url} ${fault}`);
    }
  }
  const outcome = absent.length > 0 ? 'absent' : 'unreachable';
  return { method, outcome, detail: (absent.length > 0 ? absent : unreachable).join('; ') };
}

/** What editors of some systems begin a file with (UTF-8's byte order mark), as `text` has it. */
const byteOrderMark = /^\u00ef\u00bb\u00bf/;

/** Looks for the token in the well-known file. */
const checkFile = (check: WebCheck): Promise<Proof> =>
  look(check, {
    method: 'file',
    path: filePath,
    limit: maxFile,
    problem({ text, isWhole }) {
      if (!isWhole) return `is larger than ${maxFile} bytes`;
      return text.replace(byteOrderMark, '').trim() === check.token ? null : 'holds something else';
    },
  });

/** Looks for the token in a meta tag of the home page's head. */
async function checkMeta(check: WebCheck): Promise<Proof> {
  // The reader of HTML is loaded when somebody proves a domain this way.
  const { findMeta } = await import('../pages/find-meta.ts');
  return look(check, {
    method: 'meta',
    path: '/',
    limit: maxPage,
    problem({ text }) {
      const contents = findMeta(text, metaName);
      if (contents.includes(check.token)) return null;
      return contents.length > 0 ? `has another token in its tag ${metaName}` : `has no tag ${metaName} in its head`;
    },
  });
}

interface Check {
  organization_id: number;
  host: string;
  token: string;
  /** Null: every method. */
  method: ProofMethod | null;
  signal: AbortSignal;
}

/** Looks for the proof of a host, all methods at the same time. @returns what each found, in the order of the methods */
export function checkHost(
  services: Pick<Services, 'http' | 'dns'>,
  limits: CrawlLimits,
  { organization_id, host, token, method, signal }: Check,
): Promise<Proof[]> {
  const web = {
    http: services.http,
    policy: policyFor(limits, { organization_id, hosts: [host] }),
    signal,
    host,
    token,
  };
  const by: Record<ProofMethod, () => Promise<Proof>> = {
    dns: () => checkDns(services.dns, host, token),
    file: () => checkFile(web),
    meta: () => checkMeta(web),
  };
  return Promise.all((method ? [method] : proofMethods).map((name) => by[name]()));
}
