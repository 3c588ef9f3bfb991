import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl, crawlersPath, urlsOf } from '../../../support/crawlers/crawls.ts';
import { links, page, redirect, type Site, type SiteAnswer, serveSite } from '../../../support/sites/site-server.ts';

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'localhost', PORTICO_LOG_LEVEL: 'info' }));

/** Robots.txt is remembered per host, so each case is a host of its own. */
async function hosted(site: Site) {
  const server = await serveSite(site);
  onTestFinished(() => server.close());
  return server;
}

const text = (body: string | Buffer, type = 'text/plain'): SiteAnswer => ({ headers: { 'Content-Type': type }, body });
const all = ['/', '/a', '/b.pdf', '/b.pdf?x', '/c/d'];

/** Crawls a site of five pages under a robots.txt. @returns what was requested */
async function under(robots: (hop: number) => SiteAnswer | undefined, settings: object = {}) {
  const server = await hosted(({ path }) => {
    const [, hop] = /^\/robots(?:-(\d+))?\.txt$/.exec(path) ?? [null, null];
    if (path.startsWith('/robots')) return robots(Number(hop ?? 0));
    return path === '/' ? page('Start', links(all.slice(1))) : page(path);
  });
  const run = await crawl(app, server.host, settings);
  return {
    run,
    requested: server
      .paths()
      .filter((path) => !path.startsWith('/robots'))
      .sort(),
  };
}

describe('robots.txt', () => {
  const allowsAll: [string, SiteAnswer | undefined][] = [
    ['missing', undefined],
    ['kept from us', { status: 401 }],
    ['forbidden', { status: 403 }],
    ['empty', text('')],
    ['HTML', text('<!doctype html><p>User-agent: *\nDisallow: /</p>', 'text/html')],
    ['for another user agent', text('User-agent: Other\nDisallow: /')],
    ['too late to be read', text(`User-agent: *\nAllow: /\n${'# padding\n'.repeat(60_000)}Disallow: /`)],
  ];
  it.each(allowsAll)('that is %s allows everything', async (_, answer) => {
    expect((await under(() => answer)).requested).toEqual(all);
  });

  it.each([
    ['a wildcard and an end', 'User-agent: *\nDisallow: /*.pdf$\nDisallow: /c', ['/', '/a', '/b.pdf?x']],
    [
      'our own name before the rest',
      'User-agent: portico\nDisallow: /a\n\nUser-agent: *\nDisallow: /',
      ['/', '/b.pdf', '/b.pdf?x', '/c/d'],
    ],
    ['the longer rule', 'User-agent: *\nDisallow: /\nAllow: /$\nAllow: /c', ['/', '/c/d']],
    ['a byte order mark', '\ufeffUser-agent: *\nDisallow: /a', ['/', '/b.pdf', '/b.pdf?x', '/c/d']],
  ])('is obeyed with %s', async (_, robots, expected) => {
    const { requested, run } = await under(() => text(robots));
    expect(requested).toEqual(expected);
    const urls = await urlsOf(app, run.id);
    expect(urls.filter(({ rule }) => rule === 'robots')).toHaveLength(all.length - expected.length);
  });

  it('is found behind five redirects', async () => {
    const { requested } = await under((hop) =>
      hop < 5 ? redirect(`/robots-${hop + 1}.txt`) : text('User-agent: *\nDisallow: /a'),
    );
    expect(requested).toEqual(['/', '/b.pdf', '/b.pdf?x', '/c/d']);
  });

  it.each([500, 503, 429])('that answers %i keeps everything closed', async (status) => {
    const { requested, run } = await under(() => ({ status }));
    expect(run).toMatchObject({ status: 'failed', finish_reason: 'robots_unreachable' });
    expect(requested).toEqual([]);
  });

  it('is ignored when a verified owner says so', async () => {
    const { requested } = await under(() => text('User-agent: *\nDisallow: /'), { ignore_robots: true });
    expect(requested).toEqual(all);
  });
});

const xml = (body: string) => text(body, 'application/xml');
const urlset = (...locs: string[]) => `<urlset>${locs.map((loc) => `<url><loc>${loc}</loc></url>`).join('')}</urlset>`;
const index = (...locs: string[]) =>
  `<sitemapindex>${locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`).join('')}</sitemapindex>`;

/** Crawls a site by one sitemap. @returns the requested pages */
async function mapped(files: (origin: string) => Record<string, SiteAnswer>, first = '/map') {
  const server = await hosted(
    ({ path, origin }) => files(origin)[path] ?? (path.startsWith('/map') ? undefined : page(path)),
  );
  const run = await crawl(app, server.host, { sitemap: [{ url: first, recursive: true }], max_errors: 1_000 });
  return {
    run,
    requested: server
      .paths()
      .filter((path) => !path.startsWith('/map'))
      .sort(),
  };
}

describe('sitemaps', () => {
  const cases: [string, (origin: string) => Record<string, SiteAnswer>, string[]][] = [
    [
      'an index of three levels that names itself',
      (at) => ({
        '/map': xml(index(`${at}/map2`, `${at}/map`)),
        '/map2': xml(index(`${at}/map3`)),
        '/map3': xml(index(`${at}/map4`, `${at}/map2`)),
        '/map4': xml(urlset(`${at}/x`)),
      }),
      ['/', '/x'],
    ],
    [
      'any namespace',
      (at) => ({ '/map': xml(`<s:urlset xmlns:s="urn:any"><s:url><s:loc>${at}/x</s:loc></s:url></s:urlset>`) }),
      ['/', '/x'],
    ],
    ['gzip without saying so', (at) => ({ '/map': text(gzipSync(urlset(`${at}/x`)), 'application/xml') }), ['/', '/x']],
    ['plain text', (at) => ({ '/map': text(`\ufeff${at}/x\r\n\r\n${at}/y\nno address\n`) }), ['/', '/x', '/y']],
    [
      'RSS',
      (at) => ({ '/map': xml(`<rss><channel><item><title>t</title><link>${at}/x</link></item></channel></rss>`) }),
      ['/', '/x'],
    ],
    [
      'Atom',
      (at) => ({
        '/map': xml(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="${at}/x"/></entry></feed>`),
      }),
      ['/', '/x'],
    ],
    ['entries of other hosts', (at) => ({ '/map': xml(urlset('https://www.example.com/y', `${at}/x`)) }), ['/', '/x']],
    [
      'dates that are none',
      (at) => ({ '/map': xml(`<urlset><url><loc>${at}/x</loc><lastmod>last week</lastmod></url></urlset>`) }),
      ['/', '/x'],
    ],
    [
      'XML that breaks off',
      (at) => ({ '/map': xml(`<urlset><url><loc>${at}/x</loc></url><url><loc>${at}/y`) }),
      ['/', '/x'],
    ],
    [
      'entities from outside, and many inside',
      (at) => ({
        '/map': xml(
          `<!DOCTYPE u [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>${urlset(`${at}/x`, `${at}/&b;`, `${at}/&f;`)}`,
        ),
      }),
      ['/', '/x'],
    ],
    ['a map that is missing', () => ({}), ['/']],
  ];

  it.each(cases)('reads %s', async (_, files, expected) => {
    const { requested, run } = await mapped(files);
    expect(run.status).toBe('completed');
    expect(requested).toEqual(expected);
  });

  it('says in the log which it does not read, and why', async () => {
    const server = await hosted(({ path, origin }) => {
      if (path === '/robots.txt') return text('User-agent: *\nDisallow: /closed');
      if (path !== '/map') return page(path);
      return xml(index('https://www.example.com/map', `${origin}/closed/1`, `${origin}/closed/2`));
    });
    const run = await crawl(app, server.host, {
      sitemap: [
        { url: '/map', recursive: true },
        { url: '/closed/map', recursive: false },
      ],
    });
    const lines = await app.ask('GET', `${crawlersPath}/${run.crawler_id}/runs/${run.id}/log?level=warn`);
    const skipped = lines.body.filter(({ event }: { event: string }) => event === 'sitemap_skipped');
    const at = server.origin;
    expect(skipped).toMatchObject([
      { data: { rule: 'robots', count: 1, sitemaps: [`${at}/closed/map`] } },
      {
        message: expect.stringContaining(`${at}/map`),
        data: { rule: 'scope', sitemaps: ['https://www.example.com/map'] },
      },
      { data: { rule: 'robots', count: 2, sitemaps: [`${at}/closed/1`, `${at}/closed/2`] } },
    ]);
  });
});
