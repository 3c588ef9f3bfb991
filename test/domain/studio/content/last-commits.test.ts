import { execFileSync } from 'node:child_process';
import { beforeEach, describe, expect, it } from 'vitest';
import { createProject } from '../../../../src/domain/projects/projects.operations.ts';
import type { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import type { Repository } from '../../../../src/ports/git.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { commitFiles, setRef } from '../../../support/git-history.ts';
import { git as stock } from '../../../support/git-store.ts';
import fc from '../../../support/properties.ts';
import { rounds } from '../../../support/rounds.ts';
import { counted, newIndex } from './reading.ts';

const paths = ['a.md', 'b.md', 'd/c.md', 'd/e\t "é".md', 'commit.md'];

const app = shared(startTestApp);
let repository: Repository;
let gitDir: string;
let projects = 0;

const newProject = async () => {
  const machine_name = `p${projects++}`;
  const made = (await app.run(createProject, { organization: 'acme', name: 'P', machine_name })) as { uuid: string };
  repository = app.services.git.open(made.uuid);
  gitDir = app.directory(made.uuid);
};
beforeEach(newProject);

/** What git itself says of one path. */
const truth = (head: string, path: string) =>
  execFileSync('git', ['--git-dir', gitDir, 'log', '-1', '--format=%H', head, '--', path], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, GIT_LITERAL_PATHSPECS: '1' },
  }).trim();

/** Asks for one path after another: of several at once git may answer otherwise where a merge dropped a change. */
async function answers(content: ContentIndex, head: string, git = repository) {
  const found: [string, string | undefined][] = [];
  for (const path of paths) found.push([path, (await content.lastCommits(git, head, [path])).get(path)?.sha]);
  return found;
}
const truths = (head: string) => paths.map((path) => [path, truth(head, path) || undefined]);

const mainAt = (oid: string) => setRef(gitDir, 'refs/heads/main', oid);
let counter = 0;
const change = (parent: string | null, ...changed: string[]) =>
  commitFiles(gitDir, parent, Object.fromEntries(changed.map((path) => [path, `${counter++}`])));

describe('a restarted process', () => {
  it('walks no history for what is stored, and follows the branch as it grows', async () => {
    const base = mainAt(change(change(null, ...paths), 'a.md'));
    const first = newIndex(app);
    expect(await answers(first, base)).toEqual(truths(base));
    await first.settled();
    let head = base;
    for (const path of ['b.md', 'd/c.md', 'b.md']) {
      head = mainAt(change(head, path));
      const watched = counted(repository);
      const content = newIndex(app);
      expect(await answers(content, head, watched.git)).toEqual(truths(head));
      expect(watched.count.walks).toBe(0);
      await content.settled();
    }
  });

  it('recognises branches that left the default branch, from before and after it moved on', async () => {
    const base = mainAt(change(change(null, ...paths), 'a.md'));
    const topic = setRef(gitDir, 'refs/heads/topic', change(change(base, 'b.md'), 'commit.md'));
    const head = mainAt(change(base, 'd/c.md'));
    const first = newIndex(app);
    await answers(first, head);
    await first.settled();
    const watched = counted(repository);
    expect(await answers(newIndex(app), topic, watched.git)).toEqual(truths(topic));
    // Only what the default branch has changed meanwhile is looked for.
    expect(watched.count.walks).toBe(1);
    expect(await answers(newIndex(app), base)).toEqual(truths(base));
  });

  it('is not misled by a branch that was moved by force, nor by a marker that is gone', async () => {
    const base = mainAt(change(change(null, ...paths), 'a.md'));
    const first = newIndex(app);
    await answers(first, base);
    await first.settled();
    const rewritten = mainAt(change(change(null, ...paths), 'b.md'));
    stock(gitDir, ['--git-dir', gitDir, 'prune', '--expire=now']);
    const second = newIndex(app);
    expect(await answers(second, rewritten)).toEqual(truths(rewritten));
    await second.settled();
    const watched = counted(repository);
    expect(await answers(newIndex(app), rewritten, watched.git)).toEqual(truths(rewritten));
    expect(watched.count.walks).toBe(0);
  });
});

it('a path that cannot be passed to git has the commit of the history line, and keeps no other from its own', async () => {
  const odd = 'line\nbreak.md';
  const base = mainAt(change(null, odd, 'a.md'));
  const content = newIndex(app);
  const ask = async () => [...(await content.lastCommits(repository, base, [odd, 'a.md'])).keys()];
  expect(await ask()).toEqual(['a.md']);
  await content.settled();
  expect((await ask()).sort()).toEqual(['a.md', odd]);
});

/** A history to grow: each step takes a parent, perhaps merges another commit, and changes, takes over or leaves each path. */
const step = fc.record({
  parent: fc.nat(),
  other: fc.option(fc.nat(), { nil: null }),
  files: fc.tuple(...paths.map(() => fc.constantFrom('keep', 'keep', 'keep', 'change', 'theirs', 'drop', 'back'))),
  ask: fc.boolean(),
  isMain: fc.boolean(),
});

function grow(
  made: readonly string[],
  { parent, other, files }: typeof step extends fc.Arbitrary<infer T> ? T : never,
) {
  const first = made[parent % made.length] ?? '';
  const second = other === null ? null : (made[other % made.length] ?? null);
  const textAt = (commit: string, path: string) => {
    const listed = stock(gitDir, ['--git-dir', gitDir, 'ls-tree', '-z', commit, '--', path]);
    return listed === ''
      ? null
      : stock(gitDir, ['--git-dir', gitDir, 'cat-file', 'blob', listed.split(/[ \t]/)[2] ?? '']);
  };
  const wanted = Object.fromEntries(
    paths.flatMap((path, at) => {
      const kind = files[at];
      if (kind === 'change') return [[path, `${counter++}`]];
      if (kind === 'drop') return [[path, null]];
      if (kind === 'back') return [[path, 'first']];
      return kind === 'theirs' && second ? [[path, textAt(second, path)]] : [];
    }),
  );
  const tree = stock(gitDir, ['--git-dir', gitDir, 'rev-parse', `${commitFiles(gitDir, first, wanted)}^{tree}`]);
  const parents = [first, ...(second && second !== first ? [second] : [])].flatMap((oid) => ['-p', oid]);
  return stock(gitDir, ['--git-dir', gitDir, 'commit-tree', tree, '-m', 'step', ...parents]);
}

it('any history, queried at any commits in any order: the answer is git’s own', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 7 }), async (steps) => {
      await newProject();
      const made = [commitFiles(gitDir, null, Object.fromEntries(paths.map((path) => [path, 'first'])))];
      for (const one of steps) {
        const oid = grow(made, one);
        made.push(oid);
        setRef(gitDir, `refs/heads/b${made.length}`, oid);
        if (one.isMain) mainAt(oid);
        if (!one.ask) continue;
        const content = newIndex(app);
        expect(await answers(content, oid)).toEqual(truths(oid));
        await content.settled();
      }
      for (const oid of made) expect(await answers(newIndex(app), oid)).toEqual(truths(oid));
    }),
    { numRuns: rounds(6, 60), seed: 3, endOnFailure: true },
  );
});
