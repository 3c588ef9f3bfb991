import { links, page, type SiteAnswer } from '../site-server.ts';
import type { TortureCase } from './torture-case.ts';

const status = (code: number, headers: Record<string, string> = {}): SiteAnswer => ({
  status: code,
  headers: { 'Content-Type': 'text/html', ...headers },
  // 204 and 304 have none (RFC 9110).
  body: code === 204 || code === 304 ? '' : links([`/linked-from-${code}`]),
});
const one = (code: number, row: TortureCase['row']): TortureCase => ({
  name: `${code}`,
  path: `/s${code}`,
  answers: { [`/s${code}`]: status(code) },
  row: { http_status: code, ...row },
  spared: [`/linked-from-${code}`],
});
const error = (code: number, attempts = 1) =>
  one(code, { state: 'error', error: code < 500 ? 'http_4xx' : 'http_5xx', sha256: null, attempts });
const recorded = (code: number) => one(code, { state: 'done', error: null, sha256: null, attempts: 1 });

export const statusCases: TortureCase[] = [
  recorded(204),
  recorded(206),
  recorded(404),
  recorded(410),
  error(400),
  error(401),
  error(403),
  error(418),
  error(501),
  error(505),
  error(408, 4),
  error(425, 4),
  error(500, 4),
  error(502, 4),
  error(504, 4),
  {
    name: '304 without a condition',
    path: '/unasked',
    answers: { '/unasked': status(304) },
    row: { state: 'error', error: 'decode', attempts: 1 },
  },
  {
    name: 'two failures, then a page',
    path: '/recovers',
    answers: {
      '/recovers': ({ before }) => (before < 2 ? status(502) : page('At last', links(['/recovers/in']))),
      '/recovers/in': page('In'),
    },
    row: { state: 'done', http_status: 200, attempts: 3 },
    requested: ['/recovers/in'],
  },
  {
    name: 'a page for browsers only',
    path: '/agent',
    answers: { '/agent': ({ headers }) => (/Portico/.test(headers['user-agent'] ?? '') ? status(403) : page('Hello')) },
    row: { state: 'error', error: 'http_4xx', http_status: 403 },
  },
];

/** Hosts that ask for patience; each in a crawl of its own, since the host is slowed. */
export const patienceCases: TortureCase[] = [
  {
    name: '429 with seconds',
    path: '/busy',
    answers: { '/busy': ({ before }) => (before === 0 ? status(429, { 'Retry-After': '1' }) : page('Free')) },
    row: { state: 'done', http_status: 200, attempts: 2 },
  },
  {
    name: '429 with a date',
    path: '/busy',
    answers: {
      '/busy': ({ before }) =>
        before === 0 ? status(429, { 'Retry-After': new Date(Date.now() + 1_000).toUTCString() }) : page('Free'),
    },
    row: { state: 'done', http_status: 200, attempts: 2 },
  },
  {
    name: '429 with something else',
    path: '/busy',
    answers: { '/busy': ({ before }) => (before === 0 ? status(429, { 'Retry-After': 'soon' }) : page('Free')) },
    row: { state: 'done', http_status: 200, attempts: 2 },
  },
  {
    name: '429 for a year',
    path: '/busy',
    answers: { '/busy': status(429, { 'Retry-After': '31536000' }) },
    row: { state: 'error', error: 'retry_after_too_long', attempts: 1 },
  },
  {
    name: '503 once',
    path: '/busy',
    answers: { '/busy': ({ before }) => (before === 0 ? status(503) : page('Free')) },
    row: { state: 'done', http_status: 200, attempts: 2 },
  },
];
