import type { GuardedHttp, HttpPolicy } from '../../../ports/http.ts';
import { fetchPages } from './fetch-page.ts';
import type { Proof } from './proof.ts';
import { filePath, metaName } from './proof-places.ts';

const maxFile = 1_024;
const maxPage = 512 * 1_024;

/** Where to look, and how to get there. */
export interface WebCheck {
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

/** One answer of the site is enough to know that a proof is not there; with none, nobody knows. */
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
export const checkFile = (check: WebCheck): Promise<Proof> =>
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
export async function checkMeta(check: WebCheck): Promise<Proof> {
  // The reader of HTML is loaded when somebody proves a domain this way.
  const { findMeta } = await import('../../pages/html/find-meta.ts');
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
