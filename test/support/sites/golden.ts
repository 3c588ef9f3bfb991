import { gzipSync } from 'node:zlib';
import { fixedSite, links, page, redirect, type Site, type SiteAnswer } from './site-server.ts';

const range = (length: number) => Array.from({ length }, (_, index) => index);

/** 200 pages in a line. */
export const chainSite: Site = ({ path }) => {
  const at = path === '/' ? 0 : Number(/^\/(\d+)$/.exec(path)?.[1] ?? Number.NaN);
  if (Number.isNaN(at) || at >= 200) return undefined;
  return page(`Link ${at}`, at < 199 ? links([`/${at + 1}`]) : '');
};

/** 400 pages that all link all, each link in four spellings of one address. */
export const cliqueSite: Site = ({ path, origin }) => {
  const at = path === '/' ? 0 : Number(/^\/n(\d+)$/.exec(path)?.[1] ?? Number.NaN);
  if (Number.isNaN(at) || at >= 400) return undefined;
  const spellings = range(400).flatMap((to) => {
    const name = to === 0 ? '' : `n${to}`;
    return [
      `/${name}`,
      `${origin.replace('localhost', 'LOCALHOST')}/${name}#top`,
      `./x/../${name}`,
      `/${name.replace('n', '%6E')}?`,
    ];
  });
  return page(`Node ${at}`, links(spellings));
};

/** An index of three sitemaps, one of them gzip, of 1,000 entries each; 200 are in two. No page is linked, and the start is in none. */
export const mapsSite: Site = ({ path, origin }) => {
  const xml = { 'Content-Type': 'application/xml' };
  const urlset = (from: number) =>
    `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${range(1000)
      .map((index) => `<url><loc>${origin}/m${from + index}</loc></url>`)
      .join('')}</urlset>`;
  if (path === '/') return page('Start');
  if (path === '/sitemap.xml') {
    const parts = ['/a.xml', '/b.xml', '/c.xml.gz'].map((name) => `<sitemap><loc>${origin}${name}</loc></sitemap>`);
    const body = `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${parts.join('')}</sitemapindex>`;
    return { headers: xml, body };
  }
  if (path === '/a.xml') return { headers: xml, body: urlset(0) };
  if (path === '/b.xml') return { headers: xml, body: urlset(900) };
  if (path === '/c.xml.gz') return { headers: { 'Content-Type': 'application/gzip' }, body: gzipSync(urlset(1800)) };
  const at = Number(/^\/m(\d+)$/.exec(path)?.[1] ?? Number.NaN);
  return at < 2800 ? page(`Entry ${at}`) : undefined;
};

/** A start page with 100 links, each two redirects away from its page. */
export const hopsSite: Site = ({ path, origin }) => {
  const [, kind, at = ''] = /^\/(first|second|page)(\d+)$/.exec(path) ?? [];
  if (path === '/') return page('Start', links(range(100).map((index) => `/first${index}`)));
  if (kind === 'first') return redirect(`${origin}/second${at}`, 301);
  if (kind === 'second') return redirect(`page${at}`, 307);
  return kind === 'page' ? page(`Page ${at}`) : undefined;
};

/** A start page with 300 links, of which each third always fails. */
export const faultsSite: Site = ({ path }) => {
  if (path === '/') return page('Start', links(range(300).map((index) => `/f${index}`)));
  const at = Number(/^\/f(\d+)$/.exec(path)?.[1] ?? Number.NaN);
  if (Number.isNaN(at) || at >= 300) return undefined;
  return at % 3 === 0 ? { status: 500, body: 'always' } : page(`Page ${at}`);
};

/** 100 pages in three variants each, all linked from the start page. */
export const filterPaths = range(100).flatMap((at) => [`/page/${at}`, `/page/${at}?sort=asc`, `/page/${at}?print=1`]);

const filterAnswers = new Map<string, SiteAnswer>([
  ['/', page('Start', links(filterPaths))],
  ...filterPaths.map((path): [string, SiteAnswer] => [path, page(path)]),
]);
export const filtersSite = fixedSite(filterAnswers);

/** Lists of patterns, and which pages besides the start they leave. */
export const filterCases: { include: string[]; exclude: string[]; leaves(path: string): boolean }[] = [
  { include: [], exclude: [], leaves: () => true },
  { include: [], exclude: ['\\?print='], leaves: (path) => !path.includes('print') },
  { include: [], exclude: ['\\?'], leaves: (path) => !path.includes('?') },
  { include: ['/page/1\\d(\\?|$)'], exclude: [], leaves: (path) => /^\/page\/1\d(\?|$)/.test(path) },
  { include: ['^[^?]*$'], exclude: [], leaves: (path) => !path.includes('?') },
  {
    include: ['sort=', 'print='],
    exclude: ['/page/[5-9]', 'print='],
    leaves: (path) => path.endsWith('sort=asc') && !/^\/page\/[5-9]/.test(path),
  },
  { include: ['nothing here matches'], exclude: [], leaves: () => false },
];
