import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { demoDataDir, postmasterPid, startServer } from '../support/server-process.ts';

/** Command lines of every living process that has the data directory in it: of PostgreSQL, of git. */
async function processesOf(dataDir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(dataDir));
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: a request under way finishes, the server ends with 0, and no child is left',
  async (signal) => {
    const { dataDir, token } = await demoDataDir();
    const server = await startServer(dataDir);
    const rest = restClient(server.url, token);
    // Reading an entry starts a `git cat-file` that stays.
    expect((await rest.get(`${demoStudio}/collections/posts`)).status).toBe(200);
    expect((await processesOf(dataDir)).some((line) => line.includes('cat-file'))).toBe(true);

    const body = JSON.stringify({ name: 'Held back' });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    const head = [
      'PATCH /api/v2/organizations/demo/projects/site HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // The server has the request's head once it asks for the rest.
    await vi.waitFor(() => expect(answer).toMatch(/^HTTP\/1\.1 100 Continue/), { timeout: 60_000, interval: 5 });
    server.child.kill(signal);
    await vi.waitFor(
      async () => {
        const refused = await fetch(`${server.url}/healthz`).then(
          () => false,
          () => true,
        );
        expect(refused).toBe(true);
      },
      { timeout: 60_000, interval: 5 },
    );
    socket.write(body);
    await once(socket, 'close');
    // The demo's token may not change projects; what counts is that the answer is whole.
    expect(answer).toMatch(/HTTP\/1\.1 403 Forbidden\r\n[\s\S]*"error":true[\s\S]*\}$/);
    const ended = await server.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toBe('');
    expect(await postmasterPid(dataDir)).toBeNull();
    expect(await processesOf(dataDir)).toEqual([]);
  },
);

test('a second signal ends the process at once', async () => {
  const { dataDir } = await demoDataDir();
  const server = await startServer(dataDir, { PORTICO_DRAIN_DELAY: '20' });
  server.child.kill('SIGTERM');
  await vi.waitFor(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(503), {
    timeout: 60_000,
    interval: 5,
  });
  // What a terminal and npm both pass on within half a second counts as one signal; this is another one.
  const second = performance.now() + 700;
  await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(second), { timeout: 60_000, interval: 20 });
  expect((await server.stop('SIGTERM')).code).toBe(1);
});
