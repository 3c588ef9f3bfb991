import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { requestEnd } from '../src/domain/crawlers/runs/change-runs.operations.ts';
import { shared, startTestApp } from './support/app.ts';
import {
  crawl,
  expectCountsOfRows,
  makeCrawler,
  queue,
  quick,
  runOf,
  urlsOf,
  workThrough,
} from './support/crawlers/crawls.ts';
import { links, page, type Site, serveSite } from './support/sites/site-server.ts';

const site = shared(() => serveSite(() => undefined));
const other = shared(() => serveSite(() => undefined));
const app = shared(() =>
  startTestApp({
    PORTICO_TRUSTED_DOMAINS: `${site.host},${other.host}`,
    PORTICO_CRAWL_MAX_PAGE_TIMEOUT: '8',
    // Chromium refuses to run as root with its sandbox.
    ...(process.getuid?.() === 0 && { PORTICO_CHROMIUM_NO_SANDBOX: '1' }),
  }),
);
let inner: Server;
let innerPort: number;
let connections = 0;

beforeAll(async () => {
  inner = createServer((_request, response) => response.end('inner')).on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve));
  innerPort = (inner.address() as AddressInfo).port;
});
afterAll(() => void inner.close());
afterEach(() => app.services.orm.em.fork().execute('delete from crawl_host'));

const script = (body: string) => ({ headers: { 'Content-Type': 'text/javascript' }, body });
const sheet = (body: string) => ({ headers: { 'Content-Type': 'text/css' }, body });
const json = (value: unknown) => ({ headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value) });
const image = { headers: { 'Content-Type': 'image/png' }, body: 'png' };

/** What became of each address, by its path; of another host by the whole. */
async function outcomes(run_id: number) {
  const rows = await urlsOf(app, run_id);
  return new Map(rows.map((row) => [row.url.replace(site.origin, ''), row]));
}

const bodyOf = async (sha256: string | null | undefined) => {
  let text = '';
  for await (const chunk of app.services.blobs.read(sha256 ?? '')) text += chunk.toString();
  return text;
};

/** A site whose links are made by a script, which needs an API to do so. */
const rendered: Site = ({ path, headers }) => {
  const made = `fetch('/api/pages').then((r) => r.json()).then((all) => {
    for (const at of all) document.body.insertAdjacentHTML('beforeend', '<a href="' + at + '">x</a>') })`;
  if (path === '/') return page('Start', '<link rel=stylesheet href=/site.css><script src=/app.js></script>');
  if (path === '/app.js') return script(`onload = () => { ${made} }`);
  if (path === '/site.css')
    return sheet('body { background: url(/back.png) } @font-face { font-family: x; src: url(/unused.woff) }');
  if (path === '/back.png' || path === '/unused.woff') return image;
  if (path === '/api/pages') return json(['/a', '/b', '/moving']);
  if (path === '/a')
    return page('A', `<script>document.body.append(navigator.userAgent)</script>`, String(headers['user-agent']));
  if (path === '/b') return page('B', '<link rel=stylesheet href=/site.css>');
  if (path === '/moving') return page('Moving', `<script>location.replace('/moved-to')</script>`);
  return path === '/moved-to' ? page('Moved to') : undefined;
};

it('reads links from pages as their scripts have left them', async () => {
  site.become(rendered);
  const run = await crawl(app, site.host, {
    browser_mode: true,
    browser_config: { wait_for_network_idle: 3_000 },
  }).catch(() => null);
  const found = run ?? (await runOf(app, 1));
  expect(found).toMatchObject({ status: 'completed', counts: { html: 5, broken: 0, errors: 0 } });
  const urls = await outcomes(found.id);
  for (const path of ['/', '/a', '/b', '/moving', '/moved-to', '/site.css', '/app.js', '/back.png', '/unused.woff'])
    expect(urls.get(path), path).toMatchObject({ state: 'done', http_status: 200, sha256: expect.any(String) });
  expect(urls.has('/api/pages')).toBe(false);
  // Each is requested once; the API by the page that needs it.
  expect(site.paths().sort()).toEqual([...urls.keys(), '/api/pages'].sort());
  expect(found.counts.requests).toBe(site.paths().length);
  expect(await bodyOf(urls.get('/')?.sha256)).not.toContain('href="/a"');
  const agents = new Set(
    site.log.filter(({ path }) => path !== '/robots.txt').map(({ headers }) => headers['user-agent']),
  );
  expect([...agents]).toEqual([expect.stringContaining('Chrome')]);
});

it('stores the document as it stands when configured to, and the answers of APIs', async () => {
  site.become(rendered);
  const browser_config = { wait_for_network_idle: 3_000, use_rendered_html: true, capture_api_responses: true };
  const settings = { browser_mode: true, browser_config };
  const run = await crawl(app, site.host, settings);
  expect(run).toMatchObject({ status: 'completed', counts: { html: 5 } });
  const urls = await outcomes(run.id);
  expect(await bodyOf(urls.get('/')?.sha256)).toContain('<a href="/a">x</a>');
  expect(await bodyOf(urls.get('/api/pages')?.sha256)).toBe('["/a","/b","/moving"]');
});

const intercepting = { network_intercept: { enabled: true, timeout: 10 }, parser: { enabled: true } };

// The page is complete before its scripts have what they request: without idle time what comes later is not awaited.
const idle = { wait_for_network_idle: 3_000 };

it.each([
  ['APIs', { browser_mode: true, browser_config: { ...idle, capture_api_responses: true } }],
  ['everything', { assets: intercepting, browser_config: idle }],
])('captures pieces of HTML that scripts ask for with the answers of %s, and pages as pages', async (_, settings) => {
  site.become(({ path }) => {
    if (path === '/') {
      const requested = ['/nav.html', '/next', '/secret', '/gone'].map((at) => `fetch('${at}')`).join(';');
      return page('Start', links(['/next']), `<script>${requested}</script>`);
    }
    if (path === '/next') return page('Next', links(['/last']));
    if (path === '/last') return page('Last');
    return path === '/nav.html' || path === '/secret' ? page('Piece', links(['/unused'])) : undefined;
  });
  const run = await workThrough(
    app,
    await queue(app, await makeCrawler(app, site.host, { ...settings, exclude: ['secret'] })),
  );
  expect(run).toMatchObject({ status: 'completed', counts: { html: 3, assets: 1, errors: 0 } });
  const urls = await outcomes(run.id);
  expect(urls.get('/nav.html')).toMatchObject({ kind: 'asset', state: 'done', sha256: expect.any(String) });
  expect(urls.get('/next')).toMatchObject({ kind: 'page', state: 'done', depth: 1 });
  expect(urls.get('/last')).toMatchObject({ kind: 'page', state: 'done', depth: 2 });
  expect(urls.has('/unused') || site.paths().includes('/secret')).toBe(false);
});

it('takes what pages ask for, of any host, without browser mode', async () => {
  other.become(({ path }) => {
    if (path === '/moved.js') return { status: 302, headers: { Location: '/lib.js' } };
    if (path === '/pic.png') return image;
    return path === '/lib.js' ? script(`new Image().src = '/late.png'`) : undefined;
  });
  site.become(({ path }) => {
    if (path === '/')
      return page(
        'Start',
        links(['/next']),
        `<script src="${other.origin}/moved.js"></script>`,
        '<script>document.body.append(Object.assign(document.createElement("a"), { href: "/made" }))</script>',
      );
    if (path === '/next')
      return page('Next', `<script src="${other.origin}/lib.js"></script><img src="${other.origin}/pic.png">`);
    return path === '/late.png' ? image : undefined;
  });
  const assets = { network_intercept: { enabled: true, timeout: 10 }, parser: { enabled: true } };
  const run = await crawl(app, site.host, { assets, user_agent: 'Mine/1' });
  expect(run).toMatchObject({ status: 'completed', counts: { html: 2, errors: 0 } });
  const urls = await outcomes(run.id);
  expect(urls.get('/late.png')).toMatchObject({ state: 'done', sha256: expect.any(String) });
  expect(urls.get(`${other.origin}/lib.js`)).toMatchObject({
    state: 'done',
    kind: 'asset',
    sha256: expect.any(String),
  });
  expect(urls.get(`${other.origin}/moved.js`)).toMatchObject({ state: 'done', redirect_to: `${other.origin}/lib.js` });
  expect(urls.has('/made')).toBe(false);
  expect(other.paths().sort()).toEqual(['/lib.js', '/moved.js', '/pic.png']);
  expect(new Set([...site.log, ...other.log].map(({ headers }) => headers['user-agent']))).toEqual(new Set(['Mine/1']));
  const off = { ...assets, network_intercept: { enabled: true, timeout: 10, execute_js: false } };
  const plain = await outcomes((await crawl(app, site.host, { assets: off })).id);
  expect(plain.has('/late.png')).toBe(false);
  // What is not run is not fetched either.
  expect(plain.get(`${other.origin}/lib.js`)).toMatchObject({ state: 'skipped', rule: 'scope' });
  expect(plain.get(`${other.origin}/pic.png`)).toMatchObject({ state: 'done', sha256: expect.any(String) });
});

it('asks for nothing that is excluded or disallowed', async () => {
  site.become(({ path }) => {
    if (path === '/robots.txt') return { body: 'User-agent: *\nDisallow: /private' };
    if (path === '/') return page('Start', '<img src=/private/a.png><img src=/out/b.png><img src=/c.png>');
    return path === '/c.png' ? image : undefined;
  });
  const run = await crawl(app, site.host, { browser_mode: true, exclude: ['/out/'] });
  expect(run).toMatchObject({ status: 'completed', counts: { skipped_robots: 1, skipped_filter: 1, requests: 2 } });
  expect(site.paths()).toEqual(['/', '/c.png']);
});

it('never sends more requests than max_hits', async () => {
  site.become(({ path }) =>
    path.endsWith('.png')
      ? image
      : page(
          path,
          links(['/1', '/2', '/3', '/4']),
          Array.from({ length: 6 }, (_, n) => `<img src="${path}${n}.png">`).join(''),
        ),
  );
  const run = await crawl(app, site.host, { browser_mode: true, max_hits: 17 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_hits', counts: { requests: 17 } });
  expect(site.paths()).toHaveLength(17);
});

it('reaches nothing inside, unless it is trusted', async () => {
  const before = connections;
  const targets = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433'].map(
    (host) => `${host}:${innerPort}`,
  );
  site.become(({ path }) =>
    path === '/'
      ? page(
          'Start',
          ...targets.map(
            (
              at,
            ) => `<img src="http://${at}/i"><link rel=dns-prefetch href="//${at}"><iframe src="http://${at}/f"></iframe>
        <script>fetch('http://${at}/x', { mode: 'no-cors' }).catch(() => {}); fetch('http://${at}/p', { method: 'POST', mode: 'no-cors' }).catch(() => {}); new WebSocket('ws://${at}/')</script>`,
          ),
          `<img src="${other.origin}/trusted.png">`,
          '<img src=/redirect>',
        )
      : path === '/redirect'
        ? { status: 302, headers: { Location: `http://127.0.0.1:${innerPort}/r` } }
        : undefined,
  );
  other.become(() => image);
  const assets = { network_intercept: { enabled: true, timeout: 10 } };
  const settings = { browser_mode: true, assets, browser_config: { wait_for_network_idle: 2_000 }, max_errors: 1_000 };
  const id = await queue(app, await makeCrawler(app, site.host, settings));
  const run = await workThrough(app, id);
  expect(run.status).toBe('completed');
  expect(connections).toBe(before);
  const urls = await outcomes(id);
  // Its robots.txt could not be fetched: nothing else was.
  expect(urls.get(`http://127.0.0.1:${innerPort}/i`)).toMatchObject({ state: 'skipped', attempts: 0 });
  expect(urls.get(`${other.origin}/trusted.png`)).toMatchObject({ state: 'done', sha256: expect.any(String) });
});

/** What an advertisement in a frame may try with the site around it. */
const hostile = (target: string) => `<script>
  const at = (path, init) => fetch('${target}' + path, init).then((r) => r.text(), () => 'refused')
    .then((read) => fetch('/read?' + path.slice(1) + '=' + read));
  at('/account'); at('/open'); at('/public?credentialed', { credentials: 'include' });
  fetch('/redirect').then((r) => r.text(), () => 'refused').then((read) => fetch('/read?redirect=' + read));
  at('/simple', { method: 'POST', mode: 'no-cors', body: 'x' });
  at('/unusual', { method: 'PUT', headers: { 'x-own': '1' }, body: 'x' });
  onload = () => { const text = document.querySelector('#f').contentDocument?.body.textContent; fetch('/read?frame=' + text) };
</script><img src="${target}/pixel.png"><iframe id=f src=/framed></iframe>`;

it('gives documents of other sites neither the crawler’s credentials nor what only their own scripts may read', async () => {
  other.become(({ path }) => {
    if (path === '/ad') return page('Ad', hostile(site.origin));
    if (path === '/redirect' || path === '/framed')
      return { status: 302, headers: { Location: `${site.origin}/account` } };
    return { body: '' };
  });
  site.become(({ path, headers }) => {
    const account = headers.authorization === 'Bearer crawler' ? 'private' : 'nothing';
    if (path === '/')
      return {
        ...page('Start', `<iframe src="${other.origin}/ad"></iframe>`, '<script>fetch("/own")</script>'),
        headers: { 'Content-Type': 'text/html', 'Set-Cookie': 'session=1; Path=/' },
      };
    if (path === '/open' || path.startsWith('/public'))
      return { headers: { 'Access-Control-Allow-Origin': '*' }, body: account };
    return { headers: { 'Content-Type': 'text/html' }, body: account };
  });
  const settings = {
    browser_mode: true,
    browser_config: { wait_for_network_idle: 4_000 },
    headers: { Authorization: 'Bearer crawler' },
  };
  const run = await workThrough(app, await queue(app, await makeCrawler(app, site.host, settings)));
  expect(run).toMatchObject({ status: 'completed' });
  const read = other
    .paths()
    .filter((path) => path.startsWith('/read?'))
    .sort();
  expect(read).toEqual([
    '/read?account=refused',
    '/read?frame=',
    '/read?open=nothing',
    '/read?public?credentialed=refused',
    '/read?redirect=refused',
    '/read?simple=',
    '/read?unusual=refused',
  ]);
  const credentials = new Map(
    site.log.map(({ path, headers }) => [path, `${headers.authorization} ${headers.cookie}`]),
  );
  expect(credentials.get('/own')).toBe('Bearer crawler session=1');
  for (const path of ['/open', '/simple', '/pixel.png', '/public?credentialed'])
    expect(credentials.get(path), path).toBe('undefined undefined');
  expect(site.log.filter(({ path }) => path === '/unusual').map(({ method }) => method)).toEqual(['OPTIONS']);
});

it('ends pages that do not come to rest, and goes on', async () => {
  site.become(({ path }) => {
    if (path === '/') return page('Start', links(['/spins', '/asks', '/good']));
    if (path === '/spins') return page('Spins', links(['/from-spins']), '<script>for (;;);</script>');
    if (path === '/asks')
      return page(
        'Asks',
        '<script>alert(1); setInterval(() => document.body.append("x"), 1)</script>',
        links(['/from-asks']),
      );
    return path === '/slow' ? undefined : page(path);
  });
  const assets = { network_intercept: { enabled: false, timeout: 2 } };
  const run = await crawl(app, site.host, { browser_mode: true, assets });
  expect(run).toMatchObject({ status: 'completed', counts: { html: 6, errors: 0 } });
});

it('tries a page again whose browser was killed, and gives it up in the end', async () => {
  const { readdir, readFile } = await import('node:fs/promises');
  const killRenderers = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const read = (pid: number | string, name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
    const parentOf = async (pid: number) => Number((await read(pid, 'stat')).replace(/^.*\) \S /, '').split(' ')[0]);
    for (const name of pids) {
      if (!(await read(name, 'cmdline')).includes('--type=renderer')) continue;
      for (let pid = Number(name); pid > 1; pid = await parentOf(pid))
        if (pid === process.pid) process.kill(Number(name), 'SIGKILL');
    }
  };
  const kills = { '/once.png': 1, '/always.png': 99 };
  site.become(({ path }, response) => {
    if (path === '/') return page('Start', links(['/once', '/always']));
    if (path === '/once' || path === '/always')
      return page(path, `<script>fetch('${path}.png?' + Math.random())</script><img src="/never.png">`);
    const name = path.split('?', 1)[0] as keyof typeof kills;
    if (!(name in kills)) return undefined;
    kills[name] -= 1;
    if (kills[name] < 0) return image;
    void killRenderers().then(() => response.end());
    return null;
  });
  const id = await queue(
    app,
    await makeCrawler(app, site.host, {
      browser_mode: true,
      workers: 1,
      browser_config: { wait_for_network_idle: 1_000 },
    }),
  );
  const run = await workThrough(app, id);
  const urls = await outcomes(id);
  expect(urls.get('/once')).toMatchObject({ state: 'done', attempts: 2 });
  expect(urls.get('/always')).toMatchObject({ state: 'error', error: 'browser', attempts: 4 });
  expect(run).toMatchObject({ status: 'completed', counts: { html: 2, retries: 4 } });
});

it('is canceled in the middle of a page', async () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  site.become(({ path }) => {
    if (path === '/') return page('Start', '<script src=/hangs.js></script>');
    if (path === '/robots.txt') return undefined;
    open();
    return null;
  });
  const id = await queue(app, await makeCrawler(app, site.host, { browser_mode: true }));
  const working = workThrough(app, id);
  await opened;
  await app.services.orm.em
    .fork()
    .transactional(async (em) => requestEnd(em, app.services, await runOf(app, id), 'cancel'));
  expect(await working).toMatchObject({ status: 'canceled', finish_reason: 'user' });
});

it('lets a page that is loaded come to its end when the run is stopped', async () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  site.become(({ path }, response) => {
    if (path === '/') return page('Start', '<script src=/late.js></script>', links(['/next']));
    if (path === '/robots.txt') return undefined;
    open();
    setTimeout(() => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end('0'), 500);
    return null;
  });
  const id = await queue(app, await makeCrawler(app, site.host, { browser_mode: true }));
  const working = workThrough(app, id, { ...quick, idle: 100 });
  await opened;
  await app.services.orm.em
    .fork()
    .transactional(async (em) => requestEnd(em, app.services, await runOf(app, id), 'stop'));
  expect(await working).toMatchObject({ status: 'stopped', finish_reason: 'user', counts: { html: 1, requests: 2 } });
  await expectCountsOfRows(app, id);
});

it('asks again only for what has changed', async () => {
  const tagged: Site = (request, response) => {
    const answer = rendered(request, response);
    if (!answer || request.path.startsWith('/api/')) return answer;
    const etag = `"${Buffer.from(String(answer.body)).toString('base64url').slice(0, 40)}${String(answer.body).length}"`;
    return request.headers['if-none-match'] === etag
      ? { status: 304, headers: { ETag: etag } }
      : { ...answer, headers: { ...answer.headers, ETag: etag } };
  };
  site.become(tagged);
  const settings = { browser_mode: true, browser_config: { wait_for_network_idle: 3_000 } };
  const crawler = await makeCrawler(app, site.host, settings);
  const first = await workThrough(app, await queue(app, crawler));
  const second = await workThrough(app, await queue(app, crawler));
  expect(first.counts).toMatchObject({ html: 5, unchanged_304: 0 });
  expect(second.counts).toMatchObject({
    html: 5,
    unchanged_304: first.counts.captured,
    requests: first.counts.requests,
  });
});
