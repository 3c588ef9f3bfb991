import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { fsck } from '../support/git-store.ts';
import { demoStudio, type RestClient, restClient } from '../support/rest-client.ts';
import {
  demoDataDir,
  endPid,
  kill,
  postmasterPid,
  type ServerProcess,
  startServer,
} from '../support/server-process.ts';

const posts = `${demoStudio}/collections/posts`;
const total = 200;

const prefix = 'en/crash-';

/** The post of a number; its body tells the number, so that a mixed-up file is noticed. */
const draft = (number: number) => ({
  slug: `${prefix}${number}`,
  frontmatter: {
    title: `Crash ${number}`,
    description: 'Written in a crash',
    date: '2026-01-01',
    author: 'hazel-quillfeather',
  },
  body: `Body ${number}\n`,
});

interface Written {
  slug: string;
  commit: string;
}

/** Creates entries, eight at a time, until one cannot be sent; calls `onAnswer` after each. @returns those acknowledged. */
async function writeUntilLost(rest: RestClient, onAnswer: (count: number) => void): Promise<Written[]> {
  const acknowledged: Written[] = [];
  let next = 0;
  const writer = async () => {
    for (let number = next++; number < total; number = next++) {
      const body = draft(number);
      const answer = await rest.send('POST', posts, body).catch(() => null);
      if (!answer) return;
      if (answer.status === 201) {
        acknowledged.push({ slug: body.slug, commit: answer.headers.get('x-commit-sha') ?? '' });
        onAnswer(acknowledged.length);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, writer));
  return acknowledged;
}

/** All entries of the demo's posts, over as many pages as there are. */
async function listed(rest: RestClient): Promise<string[]> {
  const slugs: string[] = [];
  for (let page = 1; ; page++) {
    const { body } = await rest.get(`${posts}?per_page=100&page=${page}`);
    if (body.length === 0) return slugs;
    slugs.push(...body.map((entry: { slug: string }) => entry.slug));
  }
}

async function repositoriesOf(dataDir: string): Promise<string[]> {
  const names = await readdir(path.join(dataDir, 'git'));
  return names.filter((name) => name.endsWith('.git')).map((name) => path.join(dataDir, 'git', name));
}

/** What must hold after any crash: each acknowledged write is a commit of the branch and an entry in the list. */
async function expectComplete(server: ServerProcess, token: string, acknowledged: readonly Written[]): Promise<void> {
  const rest = restClient(server.url, token);
  const [repository = ''] = await repositoriesOf(server.dataDir);
  fsck(repository);
  const commits = new Set(
    execFileSync('git', ['-C', repository, 'rev-list', 'HEAD'], { encoding: 'utf8' }).split('\n'),
  );
  expect(acknowledged.filter(({ commit }) => !commits.has(commit))).toEqual([]);
  const slugs = await listed(rest);
  expect(acknowledged.map(({ slug }) => slug).filter((slug) => !slugs.includes(slug))).toEqual([]);
  // What was on its way is there as a whole or not at all.
  for (const slug of slugs.filter((name) => name.startsWith(prefix))) {
    const { status, body } = await rest.get(`${posts}/${slug}`);
    expect([status, body.body]).toEqual([200, draft(Number(slug.slice(prefix.length))).body]);
  }
  expect((await rest.send('POST', posts, draft(total + 1))).status).toBe(201);
}

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

test('kill -9 of the server and of PostgreSQL during 200 writes: nothing acknowledged is lost', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const postmaster = (await postmasterPid(dataDir)) ?? 0;
  let ends: Promise<unknown> = Promise.resolve();
  const acknowledged = await writeUntilLost(restClient(server.url, token), (count) => {
    if (count === 60) ends = Promise.all([kill(server.child), endPid(postmaster)]);
  });
  await ends;
  expect(acknowledged.length).toBeLessThan(total);
  await expectComplete(await startServer(dataDir), token, acknowledged);
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
