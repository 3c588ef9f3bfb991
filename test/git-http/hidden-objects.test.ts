import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '../../src/kernel/actor.ts';
import { seed, shared, startTestApp } from '../support/app.ts';
import { git, save, temporaryDirectory } from '../support/git-store.ts';
import { pushOf } from '../support/packs.ts';
import { askRaw } from '../support/raw-http.ts';

const app = shared(startTestApp);
const post = (text: string) => `---\ntitle: ${text}\n---\n\n${text}\n`;
beforeAll(() => seed(app, { 'content/posts/a.md': post('A'), 'content/posts/b/index.md': post('B') }));

let count = 0;

/** A branch with a secret post that was deleted and rescued, and a directory that makes objects on top of all that is stored. */
async function deleted() {
  const repository = await app.repository();
  const main = (await repository.head('main')) ?? '';
  const name = `secret-${count++}`;
  await repository.createBranch(name, main);
  const files = { [`content/posts/${name}/index.md`]: post(`Secret ${name} `.repeat(20).trim()) };
  const commit = (await save(repository, files, { branch: name })).commit?.sha ?? '';
  await repository.rescue(name, commit);
  await repository.deleteBranch(name, commit);
  const work = temporaryDirectory();
  git(work, ['init', '-q']);
  mkdirSync(join(work, '.git/objects/info'), { recursive: true });
  writeFileSync(join(work, '.git/objects/info/alternates'), `${join(app.directory(repository.id), 'objects')}\n`);
  const at = (revision: string) => git(work, ['rev-parse', revision]);
  const file = `${commit}:content/posts/${name}/index.md`;
  return { repository, main, name, commit, work, at, file, directory: `${commit}:content/posts/${name}` };
}

type Deleted = Awaited<ReturnType<typeof deleted>>;

/** A commit on main, or on others, with a file or directory at `content/posts/mine`; what has to be brought of it. */
function commitWith({ work, main, at }: Deleted, entry: string, parents = [main]) {
  const tree = (lines: string) => git(work, ['mktree'], lines);
  const posts = tree(`${git(work, ['ls-tree', `${main}:content/posts`])}\n${entry}\n`);
  const content = tree(`040000 tree ${posts}\tposts\n`);
  const root = tree(`${git(work, ['ls-tree', main]).replace(at(`${main}:content`), content)}\n`);
  const commit = git(work, ['commit-tree', root, ...parents.flatMap((parent) => ['-p', parent]), '-m', 'Mine']);
  return { tip: commit, brings: [commit, root, content, posts] };
}

/** A commit with a copy of the hidden file, with a line more: a delta on that file, so that what it says is not brought. */
function copying(made: Deleted) {
  const { work, commit, at, file, name } = made;
  const copy = git(work, ['hash-object', '-w', '--stdin'], `${git(work, ['cat-file', 'blob', at(file)])}\nmore\n`);
  const { tip, brings } = commitWith(made, `100644 blob ${copy}\tmine.md`);
  return { tip, brings: [`-${commit}`, `${copy} content/posts/${name}/index.md`, ...brings] };
}

/** What a push of these objects alone is answered; each is named as pack-objects reads it. */
async function sent(
  { work }: Pick<Deleted, 'work'>,
  { tip, brings }: { tip: string; brings: readonly string[] },
  { ref, also = [] }: { ref: string; also?: Permission[] },
): Promise<string> {
  const input = brings.map((oid) => `${oid}\n`).join('');
  const pack = execFileSync('git', ['pack-objects', '--stdout', '-q'], { cwd: work, input });
  const token = await app.makeToken(['browse_studio', 'edit_studio', ...also]);
  const body = pushOf(tip, [ref], pack);
  const headers = { 'content-type': 'application/x-git-receive-pack-request' };
  const answer = await askRaw(app, 'POST', '/git/acme/site.git/git-receive-pack', { token, body, headers });
  expect(answer.status).toBe(200);
  // Long texts for the terminal come in several packets.
  const texts = String(answer.body).split('\u0002');
  return texts.map((text) => text.replace(/[0-9a-f]{4}$/, '')).join('');
}

const cases: [string, (made: Deleted) => { tip: string; brings: string[] }][] = [
  ['a rescued commit', ({ commit }) => ({ tip: commit, brings: [] })],
  [
    'a commit on top of it',
    (made) => commitWith(made, `100644 blob ${made.at(`${made.main}:content/posts/a.md`)}\tmine.md`, [made.commit]),
  ],
  ['a file of it', (made) => commitWith(made, `100644 blob ${made.at(made.file)}\tmine.md`)],
  ['a directory of it', (made) => commitWith(made, `040000 tree ${made.at(made.directory)}\tmine`)],
  ['a copy of a file of it', copying],
  [
    'its tree',
    (made) => {
      const tip = git(made.work, ['commit-tree', `${made.commit}^{tree}`, '-p', made.main, '-m', 'Mine']);
      return { tip, brings: [tip] };
    },
  ],
];

describe('a push that leads to what it does not bring', () => {
  it.each(cases)('shows nothing that was hidden, unless it is a manager: %s', async (_what, make) => {
    const made = await deleted();
    const push = make(made);
    for (const ref of [`refs/heads/${made.name}-mine`, `refs/tags/${made.name}-mine`]) {
      const refused = await sent(made, push, { ref });
      expect(refused).toContain(`ng ${ref} pre-receive hook declined`);
      expect(refused).toMatch(/which it does not bring and no branch, tag or pull request has.* manage_studio/);
      if (push.tip === made.commit) expect(refused).toContain(`-mine is to lead to ${push.tip}, which`);
    }
    expect(await made.repository.head(`${made.name}-mine`)).toBeNull();
    const ref = `refs/heads/${made.name}-again`;
    expect(await sent(made, push, { ref, also: ['manage_studio', 'delete_studio'] })).toContain(`ok ${ref}`);
  });

  it('brings back what its client has itself', async () => {
    const made = await deleted();
    const objects = git(made.work, ['rev-list', '--objects', '--no-object-names', made.commit]).split('\n');
    const ref = `refs/heads/${made.name}-back`;
    expect(await sent(made, { tip: made.commit, brings: objects }, { ref })).toContain(`ok ${ref}`);
  });

  it('may name old files and directories of visible history', async () => {
    const made = await deleted();
    const { repository } = made;
    await save(repository, { 'content/posts/old/index.md': post('Old') });
    const [file, directory] = ['main:content/posts/old/index.md', 'main:content/posts/old'].map((path) =>
      git(app.directory(repository.id), ['rev-parse', path]),
    );
    await save(repository, { 'content/posts/old/index.md': null });
    const main = (await repository.head('main')) ?? '';
    for (const [name, entry] of [
      ['file', `100644 blob ${file}\tmine.md`],
      ['directory', `040000 tree ${directory}\tmine`],
    ] as const) {
      const ref = `refs/heads/old-${name}`;
      expect(await sent(made, commitWith({ ...made, main }, entry), { ref })).toContain(`ok ${ref}`);
    }
  });
});
