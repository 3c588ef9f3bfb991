import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fsck } from '../support/git-store.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { demoDataDir, startServer } from '../support/server-process.ts';

const posts = `${demoStudio}/collections/posts`;
const writers = 16;
const rounds = 5;

test('16 writers at once on one branch lose nothing, and each save is a commit of its own', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const rest = restClient(server.url, token);
  const frontmatter = { title: 'Race', description: 'At once', date: '2026-01-01', author: 'mirabel-osk' };
  const saved = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const commits: string[] = [];
      const slug = `en/race-${writer}`;
      const made = await rest.send('POST', posts, { slug, frontmatter, body: 'Turn 0\n' });
      expect(made.status).toBe(201);
      commits.push(made.headers.get('x-commit-sha') ?? '');
      let etag = made.headers.get('etag') ?? '';
      for (let round = 1; round < rounds; round++) {
        const body = { body: `Round ${round} of ${writer}\n` };
        // What others save meanwhile does not make this entry stale.
        const answer = await rest.send('PUT', `${posts}/${slug}`, body, { 'If-Match': etag });
        expect(answer.status).toBe(200);
        commits.push(answer.headers.get('x-commit-sha') ?? '');
        etag = answer.headers.get('etag') ?? '';
      }
      return commits;
    }),
  );
  const names = await readdir(path.join(dataDir, 'git'));
  const repository = path.join(dataDir, 'git', names.find((name) => name.endsWith('.git')) ?? '');
  const text = execFileSync('git', ['-C', repository, 'rev-list', 'HEAD'], { encoding: 'utf8' });
  const branch = text.trim().split('\n');
  expect(new Set(saved.flat()).size).toBe(writers * rounds);
  expect(saved.flat().filter((commit) => !branch.includes(commit))).toEqual([]);
  expect(branch).toHaveLength(writers * rounds + 1);
  fsck(repository);
  for (let writer = 0; writer < writers; writer++) {
    const { body } = await rest.get(`${posts}/en/race-${writer}`);
    expect(body.body).toBe(`Round ${rounds - 1} of ${writer}\n`);
  }
});

test('of 16 writers who hold the same version of one entry exactly one succeeds', async () => {
  const { dataDir, token } = await demoDataDir();
  const rest = restClient((await startServer(dataDir)).url, token);
  const entry = `${posts}/en/same`;
  const frontmatter = { title: 'Race', description: 'At once', date: '2026-01-01', author: 'mirabel-osk' };
  const made = await rest.send('POST', posts, { slug: 'en/same', frontmatter, body: 'First\n' });
  const etag = made.headers.get('etag') ?? '';
  const answers = await Promise.all(
    Array.from({ length: writers }, (_, writer) =>
      rest.send('PUT', entry, { body: `By ${writer}\n` }, { 'If-Match': etag }),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 412)).toHaveLength(writers - 1);
  expect((await rest.get(entry)).body.body).toBe(`By ${statuses.indexOf(200)}\n`);
});
