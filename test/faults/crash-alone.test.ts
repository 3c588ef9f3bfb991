import { expect, test, vi } from 'vitest';
import { draft, expectComplete, posts, total, type Written, writeUntilLost } from '../support/crash-writes.ts';
import { restClient } from '../support/rest-client.ts';
import { demoDataDir, endPid, kill, postmasterPid, startServer } from '../support/server-process.ts';

test('kill -9 of the server during 200 writes: nothing acknowledged is lost, and its orphaned PostgreSQL is adopted', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const postmaster = await postmasterPid(dataDir);
  const acknowledged = await writeUntilLost(restClient(server.url, token), (count) => {
    if (count === 60) void kill(server.child);
  });
  expect(acknowledged.length).toBeGreaterThanOrEqual(60);
  expect(acknowledged.length).toBeLessThan(total);
  const next = await startServer(dataDir);
  expect(await postmasterPid(dataDir)).toBe(postmaster);
  await expectComplete(next, token, acknowledged);
  expect((await next.stop()).code).toBe(0);
  expect(await postmasterPid(dataDir)).toBeNull();
});

test('kill -9 of PostgreSQL alone during 200 writes: 503 with Retry-After in between, then all goes on without a restart', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const rest = restClient(server.url, token);
  const postmaster = (await postmasterPid(dataDir)) ?? 0;
  const refused: { status: number; retry: string | null; body: unknown }[] = [];
  const acknowledged: Written[] = [];
  for (let number = 0; number < total; number++) {
    if (number === 60) await endPid(postmaster);
    const body = draft(number);
    const { status, headers, body: answer } = await rest.send('POST', posts, body);
    if (status === 201) acknowledged.push({ slug: body.slug, commit: headers.get('x-commit-sha') ?? '' });
    // A commit may be made although its row could not be written: then the repeat says so.
    else if (status !== 409) {
      refused.push({ status, retry: headers.get('retry-after'), body: answer });
      number -= 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  for (const { status, retry, body } of refused) {
    expect([status, retry]).toEqual([503, '1']);
    expect(body).toMatchObject({ error: true, code: 'unavailable' });
  }
  expect(acknowledged.length).toBeGreaterThan(60);
  const ready = async () => (await fetch(`${server.url}/readyz`)).status;
  await vi.waitFor(async () => expect(await ready()).toBe(200), { timeout: 60_000, interval: 100 });
  await expectComplete(server, token, acknowledged);
});
