import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { post } from '../support/conflict-site.ts';
import { fsck, save } from '../support/git-store.ts';
import { hostRoot, upstreamHost } from '../support/mirror.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { demoDataDir, kill, startServer } from '../support/server-process.ts';
import { until } from '../support/workflows/processes.ts';

/** Settings of a server that trusts the hosts of `upstreamHost`. */
async function trusting(dataDir: string): Promise<Record<string, string>> {
  const caFile = path.join(path.dirname(dataDir), 'ca.pem');
  await writeFile(caFile, hostRoot);
  return { PORTICO_CA_FILE: caFile, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' };
}

const draft = (slug: string) => ({
  slug,
  frontmatter: { title: 'Crash', description: 'x', date: '2026-01-01', author: 'hazel-quillfeather' },
});

test('kill -9 between commits and pushes: every acknowledged write reaches the upstream afterwards', async () => {
  const { dataDir, token } = await demoDataDir();
  const settings = await trusting(dataDir);
  const server = await startServer(dataDir, settings);
  const host = await upstreamHost();
  const rest = restClient(server.url, token);
  const set = await rest.send('PUT', `${demoStudio}/repository/remote`, { url: host.url });
  expect(set.status).toBe(200);
  // The answer waits for the first sync only so long.
  const sent = () => rest.send('POST', `${demoStudio}/repository/sync`, {});
  await until(sent, ({ body }) => body.state === 'in_sync', 60);
  const acknowledged: string[] = [];
  const writer = async (at: number) => {
    for (let number = 0; number < 20; number += 1) {
      const answer = await rest
        .send('POST', `${demoStudio}/collections/posts`, draft(`crash-${at}-${number}`))
        .catch(() => null);
      if (answer?.status !== 201) return;
      acknowledged.push(answer.body.commit.sha);
      if (acknowledged.length === 10) void kill(server.child);
    }
  };
  await Promise.all([0, 1, 2, 3].map(writer));
  expect(acknowledged.length).toBeGreaterThanOrEqual(10);
  expect(acknowledged.length).toBeLessThan(80);
  await save(host.repository, { 'there.md': post({ title: 'Meanwhile' }) });
  const next = await startServer(dataDir, settings);
  const sync = await restClient(next.url, token).send('POST', `${demoStudio}/repository/sync`, {});
  expect(sync).toMatchObject({ status: 200, body: { state: 'in_sync' } });
  const head = (await host.repository.head('main')) ?? '';
  for (const sha of acknowledged) expect(await host.repository.isAncestor(sha, head)).toBe(true);
  fsck(host.directory);
});

test('what was committed while the upstream was down is pushed by a job when it is back', async () => {
  const { dataDir, token } = await demoDataDir();
  const host = await upstreamHost();
  const server = await startServer(dataDir, await trusting(dataDir));
  const rest = restClient(server.url, token);
  expect((await rest.send('PUT', `${demoStudio}/repository/remote`, { url: host.url })).status).toBe(200);
  host.rules.guard = (_request, response) => {
    response.writeHead(503).end();
    return true;
  };
  const { status, body } = await rest.send('POST', `${demoStudio}/collections/posts`, draft('while-down'));
  expect({ status, state: body.sync.state }).toEqual({ status: 201, state: 'pending' });
  delete host.rules.guard;
  await vi.waitFor(async () => expect(await host.repository.head('main')).toBe(body.commit.sha), {
    timeout: 60_000,
    interval: 200,
  });
});
