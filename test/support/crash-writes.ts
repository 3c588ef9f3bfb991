import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { fsck } from './git-store.ts';
import { demoStudio, type RestClient, restClient } from './rest-client.ts';
import type { ServerProcess } from './server-process.ts';

export const posts = `${demoStudio}/collections/posts`;
export const total = 200;

const prefix = 'en/crash-';

/** The post of a number; its body contains the number, so that a mixed-up file is noticed. */
export const draft = (number: number) => ({
  slug: `${prefix}${number}`,
  frontmatter: {
    title: `Crash ${number}`,
    description: 'Written in a crash',
    date: '2026-01-01',
    author: 'hazel-quillfeather',
  },
  body: `Body ${number}\n`,
});

export interface Written {
  slug: string;
  commit: string;
}

/** Creates entries, eight at a time, until one cannot be sent; calls `onAnswer` after each. @returns those acknowledged. */
export async function writeUntilLost(rest: RestClient, onAnswer: (count: number) => void): Promise<Written[]> {
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
export async function expectComplete(
  server: ServerProcess,
  token: string,
  acknowledged: readonly Written[],
): Promise<void> {
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
