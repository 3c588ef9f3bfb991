import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import { commandsOf } from './support/guides.ts';
import { demoDataDir, startServer } from './support/server-process.ts';
import { type Site, serveSite } from './support/sites/site-server.ts';
import { startReceiver } from './support/webhook-receiver.ts';

const run = promisify(execFile);
const types: Record<string, string> = { html: 'text/html; charset=utf-8', css: 'text/css', svg: 'image/svg+xml' };

/** Serves the files of a directory with ETags, so that a second crawl can ask conditionally. */
const files =
  (directory: string): Site =>
  ({ path: requested, headers }) => {
    const below = path.join(directory, path.posix.normalize(requested));
    const file = existsSync(below) && statSync(below).isDirectory() ? path.join(below, 'index.html') : below;
    if (!existsSync(file)) return undefined;
    const body = readFileSync(file);
    const own = { ETag: `"${createHash('sha256').update(body).digest('hex')}"` };
    if (headers['if-none-match'] === own.ETag) return { status: 304, headers: own };
    return { headers: { ...own, 'Content-Type': types[path.extname(file).slice(1)] ?? 'text/plain' }, body };
  };

test('“From site to snapshot” does what it says, with a site, and a receiver that verifies what it receives', async () => {
  const commands = await commandsOf('crawlers', 'From site to snapshot');
  expect(commands.split('\n').length).toBeGreaterThan(50);
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-crawl-'));
  await mkdir(path.join(directory, 'my-site'));
  const site = await serveSite(files(path.join(directory, 'my-site')));
  const receiver = await startReceiver();
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir, {
    PORTICO_TRUSTED_DOMAINS: site.host,
    PORTICO_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  const typed = commands.replaceAll('http://localhost:4280', server.url).replaceAll('localhost:8000', site.host);
  const { stdout } = await run('bash', ['-ec', typed], {
    cwd: directory,
    env: { PATH: process.env.PATH, TOKEN: token, HOOK: `${receiver.url}/hook` },
    timeout: 120_000,
  });

  // What the subscription said, to its own end.
  const watched = [...stdout.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, data = '']) => JSON.parse(data).data.crawlerRunProgress.run,
  );
  expect(watched.length).toBeGreaterThan(1);
  expect(watched.at(-1)).toEqual({ last_status: 'completed', counts: { requests: 5, html: 2, assets: 2 } });
  expect(stdout).toMatch(/^event: complete$/m);

  const answers = stdout.split(/(?<=[}\]])(?=[{[<:])|\n/);
  const answer = (part: string) => JSON.parse(answers.find((one) => one.includes(part)) ?? 'null');
  expect(answer('"normalised"')).toMatchObject({ decision: 'skip', rule: 'exclude[0]' });
  expect(answer('"run.completed"').map(({ event }: { event: string }) => event)).toEqual([
    'run.started',
    'run.completed',
  ]);
  const urls = (kind: string) => answer(`"kind":"${kind}"`).map(({ url }: { url: string }) => url);
  expect(urls('page')).toEqual(['/', '/guide/', '/gone/'].map((at) => site.origin + at));
  expect(urls('asset')).toEqual(['/site.css', '/paper.svg'].map((at) => site.origin + at));
  expect(answer('"linked_from"')).toMatchObject([{ url: `${site.origin}/gone/`, http_status: 404, link_count: 2 }]);
  expect([...stdout.matchAll(/<h1>(.*)<\/h1>/g)].map(([, heading]) => heading)).toEqual([
    'First edition',
    'Second edition',
    'First edition',
  ]);
  for (const counted of ['"requests":5', '"unchanged_304":3', '"changed":1', '"removed":0'])
    expect(stdout).toContain(`\n${counted}\n`);
  expect(answer('"change":"changed"')).toMatchObject([{ url: `${site.origin}/guide/`, change: 'changed' }]);
  expect(answer('"schedule_cron_string"').next_runs).toHaveLength(5);

  const archive = gunzipSync(await readFile(path.join(directory, 'my-site.warc.gz'))).toString('latin1');
  expect(archive.match(/^WARC-Target-URI: .*\/guide\//gm)).toHaveLength(1);
  expect(archive).toContain('Second edition');

  const { secret } = answer('"secret"');
  await vi.waitFor(() => expect(receiver.received).toHaveLength(7), 60_000);
  const events = receiver.received.map(
    ({ text, headers }) => new Webhook(secret).verify(text, headers as Record<string, string>) as { type: string },
  );
  expect(events.map(({ type }) => type).sort()).toEqual([
    ...Array(2).fill('crawler.run.completed'),
    ...Array(2).fill('crawler.run.started'),
    ...Array(3).fill('crawler.snapshot.published'),
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({
      type: 'crawler.run.completed',
      extra: { team: 'web' },
      data: expect.objectContaining({ counts: expect.objectContaining({ unchanged_304: 3, changed: 1 }) }),
    }),
  );
  expect(() =>
    new Webhook(secret).verify(`${receiver.received[0]?.text} `, receiver.received[0]?.headers as never),
  ).toThrow();
  await Promise.all([server.stop(), site.close(), receiver.close()]);
  await rm(directory, { recursive: true, force: true });
});
