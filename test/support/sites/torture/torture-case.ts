import { links, page, type Site, type SiteAnswer, type SiteRequest } from '../site-server.ts';

type Answering = SiteAnswer | ((request: SiteRequest) => SiteAnswer | undefined);

/** One way to be difficult, and what a crawl makes of it. */
export interface TortureCase {
  name: string;
  /** What the start page links to. */
  path: string;
  /** What the site says at this path, and at others that belong to the case. */
  answers: Record<string, Answering>;
  /** What the frontier says of the path in the end: a subset of its row. */
  row: { state: 'done' | 'error' | 'skipped'; [field: string]: unknown };
  /** Paths that must have been requested, and that must not. */
  requested?: string[];
  spared?: string[];
}

/** One site of all cases of a group. */
export function tortureSite(cases: readonly TortureCase[]): Site {
  const answers = new Map<string, Answering>();
  for (const each of cases) for (const [path, answer] of Object.entries(each.answers)) answers.set(path, answer);
  return (request) => {
    if (request.path === '/') return page('Start', links(cases.map(({ path }) => path)));
    const answer = answers.get(request.path);
    return typeof answer === 'function' ? answer(request) : answer;
  };
}

/** HTML whose bytes are given, under a Content-Type. */
export const html = (body: string | Buffer, type = 'text/html'): SiteAnswer => ({
  headers: { 'Content-Type': type },
  body,
});
