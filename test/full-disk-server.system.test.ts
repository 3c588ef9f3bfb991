import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, vi } from 'vitest';
import { builtProgram } from './support/build.ts';
import { makeDemoWebhook } from './support/demo-webhook.ts';
import { demoStudio, restClient } from './support/rest-client.ts';
import {
  demoDataDir,
  kill,
  newDataDir,
  plainEnvironment,
  portico,
  readFirstRun,
  settingsFor,
  startProgram,
  startServer,
} from './support/server-process.ts';
import { asRoot, remount, removeDisks, smallDisk } from './support/small-disk.ts';
import { call, sign } from './support/webhook.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  removeDisks();
});

/** Writes a file until nothing more is taken. */
async function fill(directory: string): Promise<() => Promise<void>> {
  const file = path.join(directory, 'filler');
  const handle = await open(file, 'w');
  for (const size of [1024 * 1024, 4096])
    for (;;) {
      const written = await handle.write(Buffer.alloc(size)).catch(() => ({ bytesWritten: 0 }));
      if (written.bytesWritten < size) break;
    }
  await handle.close();
  return () => rm(file);
}

asRoot(
  'a full disk is 503 storage_full to every writer, readiness says so, and all works again when there is space',
  async () => {
    const dataDir = await newDataDir();
    await smallDisk(dataDir, 256, '700');
    const server = await startServer(dataDir);
    // Before its disk is taken away.
    stops.push(server.stop);
    const { token = '' } = await readFirstRun(dataDir);
    const hook = await makeDemoWebhook(server, token);
    const made = await portico(
      ['token', 'create', '--organization', 'demo', '--preset', 'owner'],
      settingsFor(dataDir),
    );
    const rest = restClient(server.url, token);
    const owner = restClient(server.url, made.stdout.trim());
    const readiness = async () => {
      const response = await fetch(`${server.url}/readyz`);
      return { status: response.status, checks: ((await response.json()) as { checks: object }).checks };
    };
    await vi.waitFor(async () => expect((await readiness()).status).toBe(200), { timeout: 60_000, interval: 100 });

    const posts = `${demoStudio}/collections/posts`;
    const frontmatter = { title: 'Full', description: 'Disk', date: '2026-01-01', author: 'mirabel-osk' };
    const acknowledged: string[] = [];
    const hmacCall = (size: number) => {
      const body = JSON.stringify({ filler: randomBytes(size / 2).toString('hex') });
      return call(server.url, hook.endpoint, { body, headers: { 'x-hub-signature-256': sign(hook.secret, body) } });
    };
    const upload = async () => {
      const form = new FormData();
      form.append('file', new Blob(['%PDF-1.4\n', randomBytes(300_000)]), `${randomUUID()}.pdf`);
      const url = `${server.url}/api/v2${demoStudio}/media`;
      const response = await fetch(url, { method: 'POST', body: form, headers: { Authorization: `Bearer ${token}` } });
      return { status: response.status, body: await response.json() };
    };
    const graphql = async () => {
      const input = { slug: `en/${randomUUID()}`, frontmatter, body: randomBytes(100_000).toString('hex') };
      const query = `mutation ($input: CreateEntryInput!) { createEntry(organization: "demo", project: "site", input: $input) { commit { sha } } }`;
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query, variables: { input: { ...input, collection: 'posts' } } }),
      });
      return { status: response.status, body: await response.json() };
    };
    const writers: Record<string, () => Promise<{ status: number; body: unknown }>> = {
      entry: async () => {
        const slug = `en/${randomUUID()}`;
        const answer = await rest.send('POST', posts, {
          slug,
          frontmatter,
          body: randomBytes(200_000).toString('hex'),
        });
        if (answer.status === 201) acknowledged.push(slug);
        return answer;
      },
      upload,
      branch: () => rest.send('POST', `${demoStudio}/branches`, { name: `full-${randomUUID()}`, from: 'main' }),
      organization: () => owner.send('PATCH', '/organizations/demo', { name: `Demo ${randomUUID()}` }),
      workflow: () =>
        rest.send('POST', '/organizations/demo/projects/site/workflows', {
          name: randomUUID(),
          definition: `portico: workflow/1\n# ${randomBytes(100_000).toString('hex')}\nsteps:\n  - {id: a, type: output, value: "1"}\n`,
        }),
      'large webhook': () => hmacCall(4_000_000),
      'small webhook': () => hmacCall(20_000),
      graphql,
    };
    const free = await fill(dataDir);
    const seen: Record<string, Set<string>> = {};
    for (let round = 0; round < 12; round += 1)
      for (const [name, write] of Object.entries(writers)) {
        const { status, body } = await write();
        const { code, errors } = body as { code?: string; errors?: { extensions: { reason: string } }[] };
        seen[name] ??= new Set();
        seen[name].add(`${status} ${code ?? errors?.[0]?.extensions.reason ?? ''}`.trim());
      }
    for (const [name, answers] of Object.entries(seen))
      for (const one of answers)
        expect([name, one]).toEqual([name, expect.stringMatching(/^(2\d\d|503( storage_full)?|200 storage_full)$/)]);
    for (const name of ['entry', 'upload', 'branch']) expect([...(seen[name] ?? [])]).toEqual(['503 storage_full']);
    expect([...(seen.graphql ?? [])]).toEqual(['200 storage_full']);
    expect([...(seen['large webhook'] ?? [])]).toEqual(['503']);
    await vi.waitFor(
      async () => expect(await readiness()).toMatchObject({ status: 503, checks: { storage: 'failed' } }),
      { timeout: 60_000, interval: 100 },
    );
    // Who only reads notices nothing.
    expect((await rest.get(`${demoStudio}/collections`)).status).toBe(200);

    await free();
    await vi.waitFor(async () => expect((await readiness()).status).toBe(200), { timeout: 60_000, interval: 100 });
    for (const [name, write] of Object.entries(writers)) {
      const { status, body } = await write();
      expect([name, status, status < 300 ? '' : body]).toEqual([name, status, '']);
    }
    for (const slug of acknowledged) expect((await rest.get(`${posts}/${slug}`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  },
);

asRoot('a start on a read-only or a full data directory is one sentence that names it', async () => {
  const dataDir = await newDataDir();
  await smallDisk(dataDir, 8, '700');
  const refusal = async () => {
    const { code, stderr } = await (await startProgram('main', [], settingsFor(dataDir))).ended;
    return { code, stderr };
  };
  remount(dataDir, 'ro');
  expect(await refusal()).toEqual({
    code: 1,
    stderr: `The data directory ${dataDir} is on a read-only file system. Mount it writable, or set PORTICO_DATA_DIR to another directory.\n`,
  });
  remount(dataDir, 'rw');
  const free = await fill(dataDir);
  expect(await refusal()).toEqual({
    code: 1,
    stderr: `The data directory ${dataDir} has no space left (ENOSPC). Free some, or set PORTICO_DATA_DIR to another directory.\n`,
  });
  await free();
  // Some space, too little for a cluster.
  const { code, stderr } = await refusal();
  expect(code).toBe(1);
  expect(stderr).toContain('No space left on device');
});

asRoot('a server whose log is on a full disk goes on without it, and ends when it is stopped', async () => {
  const { dataDir, token } = await demoDataDir();
  const logs = await newDataDir();
  await smallDisk(logs, 1);
  const log = path.join(logs, 'log');
  const file = openSync(log, 'a');
  const main = path.join(await builtProgram(), 'main.js');
  const env = plainEnvironment(settingsFor(dataDir));
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', file, 'ignore'] });
  closeSync(file);
  stops.push(() => kill(child));
  const readLog = () => readFile(log, 'utf8');
  const [, url = ''] = await vi.waitFor(
    async () => /Portico is ready at ([^\s"]+)/.exec(await readLog()) ?? Promise.reject(new Error('is starting')),
    { timeout: 60_000, interval: 100 },
  );
  const rest = restClient(url.replace('localhost', '127.0.0.1'), token);
  const ask = async () => expect((await rest.get(`${demoStudio}/collections`)).status).toBe(200);
  const free = await fill(logs);
  for (let time = 0; time < 100; time += 1) await ask();
  await free();
  await vi.waitFor(
    async () => {
      await ask();
      const lines = (await readLog()).split('\n').filter((line) => line.includes('/collections'));
      expect(lines.length).toBeGreaterThan(100);
      for (const line of lines) JSON.parse(line);
    },
    { timeout: 60_000, interval: 100 },
  );
  await fill(logs);
  await ask();
  const ended = once(child, 'exit');
  child.kill();
  expect(await ended).toEqual([0, null]);
});
