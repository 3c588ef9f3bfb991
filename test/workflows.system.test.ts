import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { commandsOf } from './support/guides.ts';
import { demoDataDir, startServer } from './support/server-process.ts';
import { type Site, serveSite } from './support/sites/site-server.ts';

vi.setConfig({ testTimeout: 300_000 });

const run = promisify(execFile);
const pages: Record<string, string> = { '/': '<h1>Home</h1><a href="/guide/">Guide</a>', '/guide/': '<h1>Guide</h1>' };
const twoPages: Site = ({ path: requested }) => {
  const body = pages[requested];
  return body === undefined ? undefined : { headers: { 'Content-Type': 'text/html' }, body };
};

test('“From webhook to pull request” does what it says, and the clock starts what was tried by hand', async () => {
  const commands = await commandsOf('workflows', 'From webhook to pull request');
  expect(commands.split('\n').length).toBeGreaterThan(80);
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-workflows-'));
  await symlink(path.join(import.meta.dirname, '../node_modules'), path.join(directory, 'node_modules'));
  const site = await serveSite(twoPages);
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir, {
    PORTICO_TRUSTED_DOMAINS: site.host,
    PORTICO_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  const typed = commands.replaceAll('http://localhost:4280', server.url).replaceAll('localhost:8000', site.host);
  const { stdout } = await run('bash', ['-ec', `${typed}\necho "secret $secret"\necho "nightly $workflow"`], {
    cwd: directory,
    env: { PATH: process.env.PATH, TOKEN: token },
    timeout: 150_000,
  });

  // One delivery makes a branch, an entry and a pull request.
  expect(stdout).toContain('"output":{"pull":1}');
  const done = [...stdout.matchAll(/"type":"step\.completed","at":"[^"]*","path":"([^"]*)"/g)].map(([, step]) => step);
  expect(done).toEqual(['note', 'branch', 'entry', 'pull']);
  const pulls = /\[\{"number":1.*?\}\](?=\{)/s.exec(stdout)?.[0] ?? '[]';
  expect(JSON.parse(pulls)).toMatchObject([
    { state: 'open', title: 'New post: Update the README with new information.', head: { ref: 'announce/pr-2' } },
  ]);
  expect(stdout).toContain('"path":"src/content/posts/en/pr-2.md"');
  expect(stdout).toContain('"description":"Soon in Codertocat/Hello-World","date":"2019-05-15","draft":true');
  const url = server.url.replace('http://', `http://token:${token}@`);
  const clone = path.join(directory, 'clone');
  await run('git', ['clone', '-q', '--branch', 'announce/pr-2', `${url}/git/demo/site.git`, clone]);
  const { stdout: logged } = await run('git', ['-C', clone, 'log', '-1', '--name-status', '--format=%s']);
  expect(logged).toBe('Draft a post about #2\n\nA\tsrc/content/posts/en/pr-2.md\n');

  // Repeated, forged, under the former secret, under the new one.
  expect([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['202', '401', '401', '202']);
  expect(stdout).toContain('Idempotency-Replayed: true');
  expect(stdout).toContain('{"error":"Unauthorized"}');

  // The crawl was waited for, and its snapshot published by the workflow.
  expect(JSON.parse(/"next_fires":(.*)/.exec(stdout)?.[1] ?? '[]')).toHaveLength(5);
  const [, live] = /"output":\{"live":(\d+)\}/.exec(stdout) ?? [];
  expect(stdout).toContain(`"published_snapshot_id":${live}`);

  // The same by the clock: every minute instead of every night.
  const [, workflow = ''] = /^nightly (\S+)$/m.exec(stdout) ?? [];
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes are looked into
  const ask = async (url: string, init: RequestInit = {}): Promise<any> =>
    (await fetch(url, { headers, ...init })).json();
  const [{ id: trigger }] = await ask(`${workflow}/triggers`);
  const body = JSON.stringify({ schedule_cron_string: '* * * * *' });
  await ask(`${workflow}/triggers/${trigger}`, { method: 'PATCH', body });
  await vi.waitFor(async () => {
    const executions = await ask(`${workflow}/executions?status=completed&trigger=cron`);
    expect(executions[0]).toMatchObject({ trigger: { id: trigger, type: 'cron' }, error: null });
    const { steps, output } = await ask(`${workflow}/executions/${executions[0].id}`);
    expect(steps.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
      ['crawl', 'completed'],
      ['publish', 'completed'],
    ]);
    expect(steps[0].output).toMatchObject({ status: 'completed', completed_at: expect.stringMatching(/T.*Z$/) });
    expect(output.live).toBeGreaterThan(Number(live));
    // The next full minute may be a minute away.
  }, 120_000);

  // The secret is returned to the client that reveals or rotates it, and written nowhere.
  const [, secret = ''] = /^secret (whk_\w+)$/m.exec(stdout) ?? [];
  expect(secret).toHaveLength(50);
  const { stdout: said, stderr } = server.output();
  expect(said + stderr).not.toContain(secret);
  await Promise.all([server.stop(), site.close()]);
  await rm(directory, { recursive: true, force: true });
});
