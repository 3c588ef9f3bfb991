import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { post } from './support/conflict-site.ts';
import { signIn } from './support/git-http.ts';
import { fsck, git, save } from './support/git-store.ts';
import { commandsOf } from './support/guides.ts';
import { hostRoot, upstreamHost } from './support/mirror.ts';
import { demoDataDir, portico, settingsFor, startServer } from './support/server-process.ts';

const run = promisify(execFile);

test('“From clone to upstream” does what it says, typed as it stands', async () => {
  const commands = await commandsOf('mirrors', 'From clone to upstream');
  expect(commands.split('\n').length).toBeGreaterThan(20);
  const { dataDir } = await demoDataDir();
  const caFile = path.join(path.dirname(dataDir), 'ca.pem');
  await writeFile(caFile, hostRoot);
  const server = await startServer(dataDir, { PORTICO_CA_FILE: caFile, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  const made = await portico(['token', 'create', '--organization', 'demo', '--preset', 'owner'], settingsFor(dataDir));
  const host = await upstreamHost();
  await save(host.repository, {
    'content/posts/one.md': post({ title: 'One', draft: true, tags: ['a'] }),
    'content/posts/two.md': post({ title: 'Two', draft: false, tags: [] }),
  });
  host.rules.guard = signIn('x-access-token:s3cret');
  const { stdout } = await run('bash', ['-c', commands.replaceAll('http://localhost:4280', server.url)], {
    env: { PATH: process.env.PATH, TOKEN: made.stdout.trim(), UPSTREAM: host.url, UPSTREAM_TOKEN: 's3cret' },
    timeout: 60_000,
  });
  expect(stdout).toMatch(/"code":"merge_conflict"/);
  const answers = stdout.trimEnd().split(/(?<=[}\]])(?=[{[])/);
  const { sync, diverged } = JSON.parse(answers.at(-1) ?? '');
  expect({ state: sync.state, diverged }).toEqual({ state: 'in_sync', diverged: [] });
  expect((await host.repository.branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
  expect(git(host.directory, ['show', 'main:content/posts/one.md'])).toContain(
    'title: "One, better and corrected"\ndraft: false\ntags: ["a", "b"]\n',
  );
  fsck(host.directory);
});
