import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ChromiumBrowser } from '../../../src/engines/browser/chromium-browser.ts';
import type { BrowserAnswer, BrowserRequest, PageLoad } from '../../../src/ports/browser.ts';
import { createLog } from '../../../src/server/log.ts';

let browser: ChromiumBrowser;
let inner: Server;
let port: number;
let connections = 0;

beforeAll(async () => {
  inner = createServer((_request, response) => response.end('inner')).on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve));
  ({ port } = inner.address() as AddressInfo);
  // Chromium refuses to run as root with its sandbox.
  browser = new ChromiumBrowser(
    { path: null, noSandbox: process.getuid?.() === 0 },
    createLog({ level: 'silent', redactHeaders: [] }),
  );
  expect(await browser.begin()).toMatchObject({ ok: true, userAgent: expect.stringContaining('Chrome') });
});
afterAll(async () => {
  await browser.close();
  inner.close();
});

const answerOf = (
  body: string,
  type = 'text/html',
  headers: Record<string, string | string[]> = {},
): BrowserAnswer => ({
  status: 200,
  headers: { 'content-type': type, ...headers },
  body: Buffer.from(body),
});

/** Loads a page of `http://site.test/`; what it asks for is answered from a list, and kept. */
async function load(
  html: string,
  given: Partial<PageLoad> = {},
  answers: Record<string, BrowserAnswer> = {},
  chromium = browser,
) {
  const requested: BrowserRequest[] = [];
  const page = await chromium.load({
    run: 1,
    organization: 1,
    url: 'http://site.test/',
    document: answerOf(html),
    scripts: true,
    wantsDom: true,
    timeout: 10_000,
    idle: 0,
    atOnce: 4,
    answer: async (request) => {
      requested.push(request);
      return answers[request.url] ?? null;
    },
    signal: new AbortController().signal,
    ...given,
  });
  return { page, requested, html: page.ok ? (page.html ?? '') : '' };
}

it('gives the document as scripts have left it, and asks for what it needs', async () => {
  const { page, requested, html } = await load(
    `<!doctype html><link rel=stylesheet href=/site.css><body><script src=/app.js></script><img src="/a.png?x=1">`,
    {},
    {
      'http://site.test/app.js': answerOf(
        `document.body.insertAdjacentHTML('beforeend', '<a href="/made">made</a>')`,
        'text/javascript',
      ),
      'http://site.test/site.css': answerOf(`body { background: url(/back.png) }`, 'text/css'),
    },
  );
  expect(page).toMatchObject({ ok: true, isCut: false, navigations: [], url: 'http://site.test/' });
  expect(html).toContain('<a href="/made">made</a>');
  expect(html).toMatch(/^<!DOCTYPE html>/);
  expect(new Set(requested.map(({ type, url }) => `${type} ${new URL(url).pathname}`))).toEqual(
    new Set(['stylesheet /site.css', 'script /app.js', 'image /a.png', 'image /back.png']),
  );
});

it('writes open shadow roots as templates', async () => {
  const { html } = await load(
    `<body><x-menu></x-menu><script>customElements.define('x-menu', class extends HTMLElement {
      connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = '<a href="/shadow">s</a>' } })</script>`,
  );
  expect(html).toMatch(/<template shadowrootmode="open"><a href="\/shadow">/);
});

it('runs no scripts when none are wanted', async () => {
  const { html } = await load(
    '<body><script>document.body.append("writ" + "ten")</script><noscript><b>plain</b></noscript>',
    {
      run: 2,
      scripts: false,
    },
  );
  const again = await load('<body><script>document.body.append("writ" + "ten")</script>', { run: 2, scripts: false });
  expect(again.html).not.toContain('written');
  expect(html).toContain('<b>plain</b>');
  expect(html).not.toContain('written');
});

it('goes nowhere else, and says where scripts wanted to', async () => {
  const at = [
    `<p>here</p><script>location = '/at-once'</script>`,
    `<body onload="location.assign('/later')"><p>here</p>`,
    `<meta http-equiv=refresh content="0; url=/refreshed"><p>here</p>`,
    `<p>here</p><form action=/sent></form><script>document.forms[0].submit()</script>`,
  ];
  const expected = ['/at-once', '/later', '/refreshed', '/sent?'];
  for (const [index, html] of at.entries()) {
    const { page, html: left } = await load(html);
    expect(page).toMatchObject({ ok: true, navigations: [`http://site.test${expected[index]}`] });
    expect(left).toContain('<p>here</p>');
  }
});

it('waits for the network to come to rest when configured to', async () => {
  const script = `<script>onload = async () => {
    const data = await (await fetch('/data.json')).json(); document.body.append(data.text) }</script>`;
  const slow = {
    answer: async (): Promise<BrowserAnswer> => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return answerOf('{"text":"fetched"}', 'application/json');
    },
  };
  expect((await load(script, { ...slow, idle: 5_000 })).html).toContain('fetched</body>');
  const { page, html } = await load(script, { answer: () => new Promise(() => {}) });
  expect(page).toMatchObject({ ok: true, isCut: false });
  expect(html).not.toContain('fetched</body>');
});

it('takes a page that does not end as it stands when its time is up', async () => {
  const spinning = await load('<p>before</p><script>for (;;);</script>', { timeout: 700 });
  expect(spinning.page).toMatchObject({ ok: true, isCut: true });
  expect(spinning.html).toContain('<p>before</p>');
  const timers = await load(
    `<p>before</p><img src=/never><script>setInterval(() => document.body.append('x'), 1)</script>`,
    { timeout: 700, answer: () => new Promise(() => {}) },
  );
  expect(timers.page).toMatchObject({ ok: true, isCut: true });
  expect(timers.html).toContain('<p>before</p>');
  const endless = await load(
    `<script>(async () => { for (let n = 0; ; n += 1) await fetch('/n' + n).catch(() => {}) })()</script>`,
    {
      timeout: 5_000,
      idle: 60_000,
    },
  );
  expect(endless.page).toMatchObject({ ok: true });
  expect(endless.requested.length).toBeLessThanOrEqual(2_000);
});

it('is not held up by dialogs, windows and downloads', async () => {
  const { page, requested, html } = await load(
    `<body><script>
      alert('a'); const said = [confirm('b'), prompt('c')];
      onbeforeunload = () => 'stay';
      window.open('/window'); window.open('about:blank');
      const a = document.createElement('a'); a.href = '/file'; a.download = 'file.bin'; document.body.append(a); a.click();
      document.body.append('said ' + said.join());
    </script>`,
    {},
    { 'http://site.test/file': answerOf('bytes', 'application/octet-stream') },
  );
  expect(page).toMatchObject({ ok: true, isCut: false });
  expect(html).toContain('said false,');
  expect(requested.filter(({ url }) => url.endsWith('/window'))).toEqual([]);
});

it('goes on with another process when a page, or the browser, crashes', async () => {
  const script = `<script>fetch('/now')</script><img src=/never>`;
  const { default: os } = await import('node:os');
  expect(os.platform()).toBe('linux');
  const { readdir, readFile } = await import('node:fs/promises');
  /** Our own Chromium's processes of a type. */
  const processes = async (type: string): Promise<number[]> => {
    const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const read = (pid: number, name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
    const parents = new Map<number, number>();
    for (const pid of all) parents.set(pid, Number((await read(pid, 'stat')).replace(/^.*\) \S /, '').split(' ')[0]));
    const isOurs = (pid: number): boolean =>
      pid === process.pid || ((parents.get(pid) ?? 0) > 1 && isOurs(parents.get(pid) ?? 0));
    const found: number[] = [];
    for (const pid of all) if (isOurs(pid) && (await read(pid, 'cmdline')).includes(type)) found.push(pid);
    return found;
  };
  const killed = await load(script, {
    answer: async () => {
      for (const pid of await processes('--type=renderer')) process.kill(pid, 'SIGKILL');
      return null;
    },
  });
  expect(killed.page).toMatchObject({ ok: false, reason: 'crashed' });
  const starts = browser.starts;
  expect((await load('<p>again')).page).toMatchObject({ ok: true });
  expect(browser.starts).toBe(starts);
  const ended = await load(script, {
    answer: async () => {
      for (const pid of await processes('--headless')) process.kill(pid, 'SIGKILL');
      return null;
    },
  });
  expect(ended.page).toMatchObject({ ok: false, reason: 'crashed' });
  expect((await load('<p>again')).page).toMatchObject({ ok: true });
  expect(browser.starts).toBe(starts + 1);
});

it('ends a page at once when it is not wanted any more', async () => {
  const abort = new AbortController();
  const loading = load('<img src=/never>', {
    signal: abort.signal,
    answer: () => {
      abort.abort(new Error('enough'));
      return new Promise(() => {});
    },
  });
  await expect(loading).rejects.toThrow('enough');
});

it('keeps cookies of a run to itself', async () => {
  const cookie = { document: answerOf('<p>', 'text/html', { 'set-cookie': ['a=1', 'b=2; HttpOnly'] }) };
  await load('', { run: 5, ...cookie });
  const script = '<body><script>document.cookie = "c=3"; document.write(document.cookie); fetch("/api")</script>';
  const { html, requested } = await load(script, { run: 5, idle: 1_000 });
  expect(html).toContain('a=1; c=3');
  expect(requested[0]?.headers.cookie?.split('; ').sort()).toEqual(['a=1', 'b=2', 'c=3']);
  expect((await load(script, { run: 6 })).html).not.toContain('a=1');
  await browser.forget(5);
  expect((await load(script, { run: 5 })).html).not.toContain('a=1');
});

it('shows each page as if nothing had been shown before', async () => {
  const marks = `<body><script>
    document.write([window.name, sessionStorage.getItem('a'), typeof window.left].join('|'));
    window.name = 'n'; sessionStorage.setItem('a', '1'); history.pushState({}, '', '/pushed'); window.left = 1;
    setInterval(() => { fetch('/late'); }, 50);
    addEventListener('pagehide', () => { sessionStorage.setItem('a', '2'); navigator.sendBeacon('/beacon'); });
  </script>`;
  for (let count = 0; count < 3; count += 1)
    expect((await load(marks, { run: 8, timeout: 30_000 })).html).toContain('||undefined');
  const { page, requested, html } = await load('<p>quiet</p>', { run: 8, idle: 1_000, timeout: 30_000 });
  expect(page).toMatchObject({ ok: true, url: 'http://site.test/', navigations: [] });
  expect(html).toContain('quiet');
  expect(requested).toEqual([]);
});

it.each([
  { pages: 2, bytes: 2 ** 40, lookEvery: 100, most: 2 ** 40 },
  { pages: 100, bytes: 1, lookEvery: 2, most: 2 ** 40 },
])('is replaced by a new one when it is worn: %j', async (wornAfter) => {
  let restarts = 0;
  const onRestart = () => {
    restarts += 1;
  };
  const other = new ChromiumBrowser(
    { path: null, noSandbox: process.getuid?.() === 0, wornAfter, onRestart },
    createLog({ level: 'silent', redactHeaders: [] }),
  );
  const slow = { idle: 500, timeout: 5_000 };
  for (let count = 0; count < 3; count += 1) expect((await load('<p>', slow, {}, other)).page.ok).toBe(true);
  expect([other.starts, restarts]).toEqual([2, 1]);
  await other.close();
});

it('ends the page that takes most where all take too much memory together', async () => {
  const wornAfter = { pages: 100, bytes: 2 ** 40, lookEvery: 100, most: 700 * 2 ** 20 };
  const other = new ChromiumBrowser(
    { path: null, noSandbox: process.getuid?.() === 0, wornAfter },
    createLog({ level: 'silent', redactHeaders: [] }),
  );
  onTestFinished(() => other.close());
  // At most 1.5 GB, should nothing end it.
  const greedy = `<script>
    const kept = [];
    const fill = () => { if (kept.length < 30) { kept.push(new Uint8Array(50e6).fill(7)); setTimeout(fill, 50); } };
    fill();
    addEventListener('load', () => setInterval(() => fetch('/again'), 100));
  </script>`;
  const slow = { run: 2, idle: 15_000, timeout: 20_000 };
  const pages = [load('<p>small', { idle: 3_000 }, {}, other), load(greedy, slow, {}, other)];
  const [small, large] = (await Promise.all(pages)).map(({ page }) => page);
  expect(small).toMatchObject({ ok: true });
  expect(large).toEqual({ ok: false, reason: 'crashed', message: 'The page crashed' });
  expect((await load('<p>next', {}, {}, other)).page).toMatchObject({ ok: true });
});

it('reaches nothing by itself, whatever a page tries', async () => {
  const targets = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '[::1]', '0.0.0.0'].map((host) => `${host}:${port}`);
  const html = `<!doctype html><head>
    ${targets.map((at) => `<link rel=dns-prefetch href="//${at}"><link rel=preconnect href="http://${at}">`).join('')}
    <link rel=prefetch href="http://127.0.0.1:${port}/prefetch"><script type=speculationrules>
    {"prerender":[{"urls":["http://127.0.0.1:${port}/prerender"],"eagerness":"immediate"}]}</script></head><body>
    ${targets.map((at) => `<img src="http://${at}/img"><iframe src="http://${at}/frame"></iframe>`).join('')}
    <script>
      const targets = ${JSON.stringify(targets)};
      for (const at of targets) {
        fetch('http://' + at + '/fetch', { mode: 'no-cors' }).catch(() => {});
        navigator.sendBeacon('http://' + at + '/beacon', 'x');
        try { new WebSocket('ws://' + at + '/socket') } catch {}
        try { new EventSource('http://' + at + '/events') } catch {}
        try { new WebTransport('https://' + at + '/transport') } catch {}
        new Worker(URL.createObjectURL(new Blob(["fetch('http://" + at + "/worker', { mode: 'no-cors' }); new WebSocket('ws://" + at + "')"])));
      }
      navigator.serviceWorker?.register('/worker.js').catch(() => {});
      const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${port}' }, { urls: 'turn:127.0.0.1:${port}?transport=tcp', username: 'u', credential: 'c' }] });
      peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer));
    </script>`;
  const at = { url: `https://site.test/`, idle: 1_500, timeout: 8_000 };
  const { page, requested } = await load(html, at);
  expect(page.ok).toBe(true);
  expect((await load(html, { ...at, url: 'http://localhost/' })).page.ok).toBe(true);
  expect(requested.some(({ url }) => url.endsWith('/img'))).toBe(true);
  expect(connections).toBe(0);
  // The proof that they were tried, and that there is a server to be reached.
  expect((await browser.refused()).length).toBeGreaterThan(0);
  await fetch(`http://127.0.0.1:${port}/`);
  expect(connections).toBe(1);
});

it.each(['/usr/bin/chromium', '/usr/bin/chromium-headless-shell'])('sends no UDP: %s', async (path) => {
  const received: Buffer[] = [];
  const listener = createSocket('udp4', (message) => received.push(message)).bind(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port: udp } = listener.address();
  const html = `<body><script>(async () => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${udp}' }] });
    peer.createDataChannel('x');
    const offer = await peer.createOffer();
    await peer.setLocalDescription(offer);
    const other = new RTCPeerConnection();
    await other.setRemoteDescription(offer);
    const { sdp } = await other.createAnswer();
    await peer.setRemoteDescription({ type: 'answer', sdp: sdp.replace(/a=ice-ufrag:.*/g, 'a=ice-ufrag:' + 'text'.repeat(20)) });
    await peer.addIceCandidate({ candidate: 'candidate:1 1 udp 2122260223 127.0.0.1 ${udp} typ host', sdpMid: '0' });
    document.body.append('tried');
  })()</script>`;
  const other = new ChromiumBrowser(
    { path, noSandbox: process.getuid?.() === 0 },
    createLog({ level: 'silent', redactHeaders: [] }),
  );
  const { html: left } = await load(html, { idle: 3_000 }, {}, other);
  expect(left).toContain('tried');
  await other.close();
  listener.close();
  expect(received).toEqual([]);
});

it('lets scripts read of other origins only what these let them read', async () => {
  const html = `<script>onload = async () => {
    for (const at of ['closed', 'open', 'named', 'others']) {
      const read = await fetch('http://other.test/' + at).then((r) => r.text(), () => 'refused');
      document.body.append(at + '=' + read + ';');
    }
  }</script><body>`;
  const allowing = (origin: string) => ({ 'access-control-allow-origin': origin });
  const { html: left } = await load(
    html,
    { idle: 5_000 },
    {
      'http://other.test/closed': answerOf('read', 'text/plain'),
      'http://other.test/open': answerOf('read', 'text/plain', allowing('*')),
      'http://other.test/named': answerOf('read', 'text/plain', allowing('http://site.test')),
      'http://other.test/others': answerOf('read', 'text/plain', allowing('http://third.test')),
    },
  );
  expect(left).toContain('closed=refused;open=read;named=read;others=refused;');
});

it('says which document makes a request', async () => {
  const asking = `<img src="http://site.test/of"><script>
    fetch('http://site.test/sent', { method: 'POST', mode: 'no-cors', body: 'x' })</script>`;
  const { requested } = await load(
    `<img src=/own.png><iframe srcdoc="<img src='/inside.png'>"></iframe><iframe src="http://other.test/frame"></iframe>`,
    { idle: 5_000 },
    { 'http://other.test/frame': answerOf(asking) },
  );
  const from = Object.fromEntries(requested.map(({ url, from }) => [new URL(url).pathname, from]));
  expect(from).toEqual({
    '/own.png': 'http://site.test',
    '/inside.png': 'http://site.test',
    '/frame': 'http://site.test',
    '/of': 'http://other.test',
    '/sent': 'http://other.test',
  });
});
