import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { client } from '../support/git-client.ts';
import { fsck, git, temporaryDirectory, testStore } from '../support/git-store.ts';
import { demoStudio, type RestClient, restClient } from '../support/rest-client.ts';
import { demoDataDir, startServer } from '../support/server-process.ts';
import { onlyRepository } from '../support/two-servers.ts';

const run = promisify(execFile);
const posts = `${demoStudio}/collections/posts`;
const frontmatter = { title: 'Race', description: 'At once', date: '2026-01-01', author: 'mirabel-osk' };
const writers = 4;
const rounds = 12;

async function demo() {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const url = server.url.replace('://', `://git:${token}@`);
  return {
    dataDir,
    rest: restClient(server.url, token),
    remote: `${url}/git/demo/site.git`,
    gitDir: await onlyRepository(dataDir),
  };
}

/** Saves one entry after another, several writers at once; a writer whose branch keeps moving tries again. @returns their commits. */
async function saveAll(rest: RestClient): Promise<string[]> {
  const save = async (slug: string): Promise<string> => {
    const { status, headers, body } = await rest.send('POST', posts, { slug, frontmatter, body: 'Text\n' });
    if (status === 409 && body.code === 'branch_moved') return save(slug);
    expect([slug, status, body.message]).toEqual([slug, 201, undefined]);
    return headers.get('x-commit-sha') ?? '';
  };
  const made = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const shas: string[] = [];
      for (let round = 0; round < rounds; round += 1) shas.push(await save(`en/w${writer}-${round}`));
      return shas;
    }),
  );
  return made.flat();
}

function expectAll(gitDir: string, shas: readonly string[]): void {
  const history = git(gitDir, ['rev-list', 'HEAD']).split('\n');
  expect(shas.filter((sha) => !history.includes(sha))).toEqual([]);
  fsck(gitDir);
}

test('git pushes during saves: nothing is lost, and a late push is rejected', async () => {
  const { rest, remote, gitDir } = await demo();
  const work = temporaryDirectory();
  await client(work, 'clone', '-q', remote, 'copy');
  const copy = path.join(work, 'copy');
  let saving = true;
  const pushed: string[] = [];
  const refusals: string[] = [];
  const pushing = (async () => {
    // The last one is pushed when no writer saves any more, so that it gets through.
    for (let round = 0, last = false; !last; round += 1) {
      last = !saving;
      mkdirSync(path.join(copy, 'notes'), { recursive: true });
      writeFileSync(path.join(copy, 'notes', `${round}.txt`), 'pushed\n');
      await client(copy, 'add', '.');
      await client(copy, 'commit', '-qm', `Push ${round}`);
      await client(copy, 'pull', '-q', '--rebase', 'origin', 'main');
      const refusal = await client(copy, 'push', '-q', 'origin', 'HEAD:main', `HEAD:refs/heads/round-${round}`).then(
        () => null,
        ({ stderr }: { stderr: string }) => stderr,
      );
      if (refusal === null) pushed.push(git(copy, ['rev-parse', 'HEAD']));
      else refusals.push(refusal);
    }
  })();
  const saved = await saveAll(rest);
  saving = false;
  await pushing;
  expect(pushed.length).toBeGreaterThan(0);
  for (const refusal of refusals)
    expect(refusal).toMatch(/fetch first|non-fast-forward|failed to update ref|cannot lock ref|incorrect old value/);
  expectAll(gitDir, [...saved, ...pushed]);
});

test('another program moves the branch by git update-ref during saves: nothing is lost', async () => {
  const { rest, gitDir } = await demo();
  let saving = true;
  const moved: string[] = [];
  const moving = (async () => {
    const person = ['-c', 'user.name=Other', '-c', 'user.email=other@example.org'];
    const ask = async (...args: string[]) =>
      (await run('git', [...person, '--git-dir', gitDir, ...args])).stdout.trim();
    for (let round = 0; saving || moved.length === 0; round += 1) {
      const head = await ask('rev-parse', 'refs/heads/main');
      const commit = await ask('commit-tree', `${head}^{tree}`, '-p', head, '-m', `Other ${round}`);
      const done = await ask('update-ref', 'refs/heads/main', commit, head).catch(() => null);
      if (done !== null) moved.push(commit);
    }
  })();
  const saved = await saveAll(rest);
  saving = false;
  await moving;
  expectAll(gitDir, [...saved, ...moved]);
});

test('another process repacks everything during reads and saves: no read fails', async () => {
  const { dataDir, rest, gitDir } = await demo();
  const { store } = testStore({ dataDir });
  const first = git(gitDir, ['rev-parse', 'HEAD']);
  let saving = true;
  let reads = 0;
  const reading = (async () => {
    for (; saving; reads += 1) {
      const [item] = (await rest.get(`${posts}?per_page=5`)).body;
      for (const place of [
        `${posts}/${item.slug}`,
        `${demoStudio}/commits?per_page=20`,
        // What only old packs hold.
        `${demoStudio}/compare?base=${first}&head=main`,
      ]) {
        const { status, body } = await rest.get(place);
        expect([place, status, body.message]).toEqual([place, 200, undefined]);
      }
    }
  })();
  const repacking = (async () => {
    while (saving) await store.maintain(path.basename(gitDir, '.git'), 'full');
  })();
  const saved = await saveAll(rest);
  saving = false;
  await Promise.all([reading, repacking]);
  expect(reads).toBeGreaterThan(0);
  expectAll(gitDir, saved);
});
