import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Engine, serviceEngine } from '../../corpus/engine.ts';
import { parseFile } from '../../src/domain/studio/frontmatter/parse-file.ts';
import { corpus, fingerprint, git, siteOf, temporary } from './support.ts';

const post = '---\ntitle: A # kept\ndate: 2024-01-01\n---\n\nText\n';

describe('words that make no sense', () => {
  it.each([
    [[], /Name at least one directory or git repository/],
    [['--sample', '0', '.'], /--sample must be a whole number from 1 to 9999999, not "0"/],
    [['--random', '-1', '.'], /--random/],
    [['--random', 'many', '.'], /--random must be a whole number from 0 to 9999999, not "many"/],
    [['--sample', '10000000', '.'], /--sample must be/],
    [['--unknown', '.'], /Unknown option '--unknown'\./],
    [['--ref', '', '.'], /--ref needs a value/],
    [['/nowhere/at/all'], /There is nothing at \/nowhere\/at\/all\./],
    [['package.json'], /package\.json is a file; name a directory/],
    [['test', '--ref', 'main'], /--ref needs git repositories; test is a plain directory/],
    [['test', '--fixtures', 'test/x'], /--fixtures must not lie inside of test/],
  ])('%j', async (words, sentence) => {
    const { code, out, err } = await corpus(words);
    expect(err).toMatch(sentence);
    expect([code, out]).toEqual([2, '']);
  });

  it('are not --help, nor the limits themselves', async () => {
    expect(await corpus(['--help'])).toMatchObject({ code: 0, err: '', out: expect.stringContaining('--fixtures') });
    const { code } = await corpus([await siteOf({}), '--sample', '9999999', '--random', '0']);
    expect(code).toBe(0);
  });
});

describe('a report', () => {
  it('for people has a section for each source and the total', async () => {
    const sites = [await siteOf({ 'a.md': post }), await siteOf({ 'b.md': post })];
    const { code, out, err } = await corpus([...sites, '--random', '3', '--seed', 'winter']);
    expect([code, err]).toEqual([0, '']);
    for (const name of [...sites, 'total']) expect(out).toContain(`${name}\n  files `);
    expect(out).toMatch(/delete_second_key +2 +0 +0\n/);
    expect(out).toContain('Nothing is wrong. Seed: winter\n');
  });

  it('in JSON is one document, the same for the same seed but for the times', async () => {
    const site = await siteOf({ 'a.md': post, 'b.md': post });
    const run = async (seed: string) => {
      const { out, report } = await corpus([site, '--json', '--random', '20', '--seed', seed]);
      expect(JSON.parse(out)).toEqual(report);
      const { times, ...rest } = report.total;
      return rest;
    };
    expect(await run('one')).toEqual(await run('one'));
    expect((await run('two')).merges).not.toEqual((await run('one')).merges);
  });

  it('adds up', async () => {
    const { report } = await corpus([
      await siteOf({ 'a.md': post }),
      await siteOf({ 'b.md': '---\n{\n---\n', 'c.md': post }),
      '--json',
    ]);
    expect(report.total).toMatchObject({ source: 'total', files: 3, formats: { yaml: 2, unparsable: 1 } });
    expect(report.total.checks.own.set_scalar?.exact).toBe(2);
    expect(report.total.unparsable[0]?.path).toMatch(/: b\.md$/);
  });
});

describe('a wrong engine', () => {
  const broken = (edit: Engine['edit']): Engine => ({ ...serviceEngine, edit });
  const rewrite = (change: (text: string) => string) =>
    broken((bytes, path, changes, options) => {
      const result = serviceEngine.edit(bytes, path, changes, options);
      return result.changed ? { ...result, bytes: Buffer.from(change(result.bytes.toString())) } : result;
    });

  it.each([
    ['drops a comment', rewrite((text) => text.replace(' # kept', '')), 'bytes outside of the changed key changed'],
    ['touches the body', rewrite((text) => text.replace('Text', 'text')), 'the body changed'],
    [
      'writes another value',
      rewrite((text) => text.replace("It's", 'Its').replace("It''s", 'Its')),
      'reads as something else than wanted',
    ],
    ['writes what cannot be parsed', rewrite((text) => text.replace('title:', 'title: [')), /^cannot be read: /],
    [
      'turns a key around',
      rewrite((text) => text.replace(/^(title: .*\n)(date: .*\n)/m, '$2$1')),
      'an addition changed what was there',
    ],
    [
      'crashes',
      broken(() => {
        throw new TypeError('oops');
      }),
      'threw TypeError: oops',
    ],
  ])('that %s ends in exit code 1 with a reproduction', async (_, engine, fault) => {
    const fixtures = join(await temporary(), 'made', 'for it');
    const words = [await siteOf({ 'posts/a.md': post }), '--json', '--fixtures', fixtures];
    const { code, report } = await corpus(words, engine);
    expect([code, report.fixtures]).toEqual([1, fixtures]);
    const found = await Promise.all(
      report.total.reproductions.map(async (directory) =>
        JSON.parse(await readFile(join(directory, 'edit.json'), 'utf8')),
      ),
    );
    expect(found).toContainEqual(
      expect.objectContaining({
        path: 'posts/a.md',
        fault: typeof fault === 'string' ? fault : expect.stringMatching(fault),
      }),
    );
    const directory = report.total.reproductions.find((name) => name.includes('own')) ?? '';
    expect(await readFile(join(directory, 'before.md'), 'utf8')).toBe(post);
  });

  it('that changes a save of nothing, or loses a side of a merge, is found', async () => {
    const site = await siteOf({ 'a.md': post });
    const noOp = await corpus(
      [site, '--json', '--fixtures', await temporary()],
      broken((bytes, path) => ({ bytes: Buffer.from(`${bytes} `), parsed: parseFile(bytes, path), changed: true })),
    );
    expect([noOp.code, noOp.report.total.checks.own.no_op?.wrong]).toEqual([1, 1]);
    const merge: Engine['merge'] = ({ current }) => ({ kind: 'clean', bytes: current, resolved: [] });
    const fixtures = await temporary();
    const lost = await corpus([site, '--json', '--fixtures', fixtures], { ...serviceEngine, merge });
    expect(lost.code).toBe(1);
    expect(lost.report.total.merges.adjacent_keys).toMatchObject({ merged: 0, wrong: 1 });
    expect(await readdir(join(fixtures, '001-adjacent_keys-a'))).toEqual([
      'base.md',
      'current.md',
      'edit.json',
      'incoming.md',
      'merged.md',
    ]);
  });

  it('says where the reproductions are, in a place of their own when none is given', async () => {
    const { code, out } = await corpus(
      [await siteOf({ 'a.md': post })],
      rewrite((text) => text.replace('Text', '')),
    );
    expect(code).toBe(1);
    const directory = /to see them again: (\S+)/.exec(out)?.[1] ?? '';
    expect(await readdir(directory)).not.toEqual([]);
    execFileSync('rm', ['-r', directory]);
  });
});

describe('git repositories', () => {
  async function repository(): Promise<string> {
    const directory = await siteOf({ 'a.md': post, 'b.md': post.replace('A', 'B') });
    git(directory, 'init', '-q');
    await symlink('a.md', join(directory, 'link.md'));
    git(directory, 'add', '.');
    git(directory, 'commit', '-q', '-m', 'Begin');
    git(directory, 'checkout', '-q', '-b', 'topic');
    await writeFile(join(directory, 'a.md'), post.replace('A', 'C'));
    git(directory, 'commit', '-q', '-a', '-m', 'Change');
    await writeFile(join(directory, 'unsaved.md'), post);
    return directory;
  }

  it('are read at every branch head, what they share once', async () => {
    const directory = await repository();
    const { report } = await corpus([directory, '--json']);
    expect(report.sources).toMatchObject([
      { source: `${directory}@main`, kind: 'git', files: 2, repeated: 0, skipped: { symlinks: 1 } },
      { source: `${directory}@topic`, commit: git(directory, 'rev-parse', 'topic'), files: 1, repeated: 1 },
    ]);
    expect(report.total.checks.own.set_scalar?.exact).toBe(3);
  });

  it('may be bare, or a linked worktree', async () => {
    const directory = await repository();
    const bare = join(await temporary(), 'bare.git');
    git(directory, 'clone', '-q', '--bare', '.', bare);
    const tree = join(await temporary(), 'tree');
    git(directory, 'worktree', 'add', '-q', tree, 'main');
    for (const path of [bare, tree]) expect((await corpus([path, '--json'])).report.sources).toHaveLength(2);
  });

  it('are read at one branch or commit', async () => {
    const directory = await repository();
    const first = git(directory, 'rev-parse', 'main');
    for (const ref of ['main', first, first.slice(0, 10)]) {
      const { report } = await corpus([directory, '--json', '--ref', ref]);
      expect(report.sources).toMatchObject([{ source: `${directory}@${ref}`, commit: first, files: 2 }]);
    }
    const { code, err } = await corpus([directory, '--ref=--all']);
    expect([code, err]).toEqual([2, expect.stringMatching(/has no branch or commit --all/)]);
  });

  it('without a branch are refused with the reason', async () => {
    const directory = await temporary();
    git(directory, 'init', '-q');
    expect(await corpus([directory])).toMatchObject({ code: 2, err: expect.stringMatching(/has no branches/) });
  });

  it('are read past a damaged object', async () => {
    const directory = await repository();
    const oid = git(directory, 'rev-parse', 'main:b.md');
    const stored = join(directory, '.git/objects', oid.slice(0, 2), oid.slice(2));
    await chmod(stored, 0o644);
    await writeFile(stored, 'no object');
    const { code, report } = await corpus([directory, '--json', '--ref', 'main']);
    expect(code).toBe(0);
    expect(report.sources).toMatchObject([{ files: 1, skipped: { unreadable: 1, symlinks: 1 } }]);
  });
});

describe('what it is given', () => {
  it('stays as it is, and what is no file is counted', async () => {
    const directory = await siteOf({
      'a.md': post,
      'sub/b.md': post,
      'huge.md': Buffer.alloc(5 * 1024 * 1024 + 1, 'x'),
    });
    await symlink('a.md', join(directory, 'link.md'));
    await symlink('..', join(directory, 'sub/loop'));
    execFileSync('mkfifo', [join(directory, 'pipe.md')]);
    git(directory, 'init', '-q', 'inner');
    await mkdir(join(directory, '.git'));
    const before = fingerprint(directory);
    const { report } = await corpus([directory, '--json', '--random', '5']);
    expect(fingerprint(directory)).toBe(before);
    expect(report.sources).toMatchObject([
      { kind: 'directory', files: 2, skipped: { symlinks: 2, special: 1, too_large: 1, unreadable: 0 } },
    ]);
  });

  it('may be interrupted', async () => {
    const stop = new AbortController();
    const site = await siteOf(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}.md`, post])));
    const parse: Engine['parse'] = (...input) => {
      stop.abort(new Error('SIGINT'));
      return serviceEngine.parse(...input);
    };
    const { code, out, err } = await corpus([site, '--json'], { ...serviceEngine, parse }, stop.signal);
    expect([code, out, err]).toEqual([130, '', 'Interrupted; nothing is reported.\n']);
  });
});
