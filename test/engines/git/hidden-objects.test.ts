import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import type { GitRepository } from '../../../src/engines/git/repository.ts';
import { hiddenWant } from '../../../src/engines/git/transfer/named-objects.ts';
import { packetLine } from '../../../src/engines/git/transfer/push-answer.ts';
import { client } from '../../support/git-client.ts';
import { gitOverHttp } from '../../support/git-http.ts';
import { git, replaceGit, save, temporaryDirectory, testStore } from '../../support/git-store.ts';

/** A repository of which a branch was deleted; the processes of git that have ended. */
async function served() {
  const ended: string[] = [];
  const metrics = { gitProcess: (command: string) => void ended.push(command), gitWriters() {} };
  const { store, path } = testStore({ metrics });
  const repository = await store.create('site', 'main');
  for (const text of ['one', 'two', 'three']) await save(repository, { 'a.md': text, [`${text}.md`]: text });
  await save(repository, { 'one.md': null });
  const main = (await repository.head('main')) ?? '';
  await repository.createBranch('leak', main);
  const leaked = (await save(repository, { 'deep/leak.md': 'leaked' }, { branch: 'leak' })).commit?.sha ?? '';
  const above = (await save(repository, { 'b.md': 'b' }, { branch: 'leak' })).commit?.sha ?? '';
  await repository.deleteBranch('leak', above);
  const { url, port } = await gitOverHttp(store);
  const work = temporaryDirectory();
  const oidAt = (revision: string) => git(path('site'), ['rev-parse', revision]);
  return { repository, store, url: url('site'), port, work, ended, main, leaked, above, oidAt, gitDir: path('site') };
}

const versions = ['0', '1', '2'];

describe('a fetch of an object by its id', () => {
  it.each(versions)('brings nothing of rescued commits, protocol version %s', async (version) => {
    const { repository, url, work, leaked, oidAt } = await served();
    await repository.rescue('leak', leaked);
    await client(work, 'clone', '-q', url, '.');
    const hidden = [leaked, oidAt(`${leaked}:deep/leak.md`), oidAt(`${leaked}:deep`), oidAt(`${leaked}^{tree}`)];
    for (const oid of hidden)
      await expect(client(work, '-c', `protocol.version=${version}`, 'fetch', url, oid)).rejects.toThrow(
        /not our ref|unadvertised object/,
      );
    await repository.createBranch('kept', leaked);
    await client(work, 'fetch', url, ...hidden);
  });

  it('brings a commit that one of them reaches', async () => {
    const { repository, url, work, main, oidAt } = await served();
    const [older, oldest] = [oidAt('main~1'), oidAt('main~3')];
    await client(work, 'init', '-q');
    await client(work, 'fetch', '-q', '--depth=1', url, older);
    await client(work, 'fetch', '-q', '--depth=1', url, oldest);
    await repository.updateRefs([{ name: 'refs/pull/1/head', to: main }]);
    await client(work, 'fetch', '-q', url, main);
    expect(git(work, ['cat-file', '-t', main])).toBe('commit');
  });

  it('brings no parents of such a commit either, to a client that says it has it without them', async () => {
    const { port, main, above, leaked, repository } = await served();
    await repository.rescue('leak', above);
    const fetched = async (depth: string, shallow: string) => {
      const lines = [`want ${main}`, `shallow ${shallow}`, `deepen ${depth}`, 'done'].map(packetLine).join('');
      const response = await fetch(`http://127.0.0.1:${port}/site.git/git-upload-pack`, {
        method: 'POST',
        headers: { 'git-protocol': 'version=2' },
        body: `${packetLine('command=fetch')}0001${lines}0000`,
      });
      return response.text();
    };
    for (const depth of ['2147483647', '0x7fffffff', '6442450943'])
      expect(await fetched(depth, above)).toBe(packetLine(`ERR upload-pack: not our ref ${leaked}`));
    expect(await fetched('1', above)).toContain('packfile');
    expect(await fetched('2147483647', leaked)).toContain(`unshallow ${leaked}`);
    await repository.createBranch('kept', leaked);
    expect(await fetched('2147483647', above)).toContain(`unshallow ${above}`);
  });

  it('reads commits of its client only where there are hidden objects, and while the client waits', async () => {
    const { repository, main, above } = await served();
    const others = Array.from({ length: 50 }, (_, at) => `shallow ${String(at).padStart(40, '0')}`);
    const lines = [`want ${main}`, ...others, 'deepen 2147483647', 'done'].map(packetLine).join('');
    const body = () => Readable.from([Buffer.from(`${packetLine('command=fetch')}0001${lines}0000`)]);
    const client = new AbortController();
    const read = repository.commit.bind(repository);
    const reads = vi.spyOn(repository, 'commit').mockImplementation((oid) => {
      if (reads.mock.calls.length === 10) client.abort(new Error('gone'));
      return read(oid);
    });
    expect(await hiddenWant(repository as GitRepository, body(), client.signal)).toBeNull();
    expect(reads).not.toHaveBeenCalled();
    await repository.rescue('leak', above);
    await expect(hiddenWant(repository as GitRepository, body(), client.signal)).rejects.toThrow('gone');
    expect(reads).toHaveBeenCalledTimes(10);
  });

  it('keeps no clone waiting while it looks for hidden objects', async () => {
    const { repository, store, work, above, oidAt } = await served();
    await repository.rescue('leak', above);
    const { url } = await gitOverHttp(store, { client: ({ headers }) => String(headers['x-client']) });
    const here = replaceGit(`
      case "$*" in *rev-list*--objects*) touch $here/began.$$; until [ -e $here/over ]; do sleep 0.05; done ;; esac
      exec $git "$@"`);
    const as = (caller: string) => ['-c', `http.extraHeader=X-Client: ${caller}`];
    await client(work, 'init', '-q');
    const old = oidAt('main~2:a.md');
    const fetches = ['one', 'two'].map((caller) => client(work, ...as(caller), 'fetch', '-q', url('site'), old));
    const began = async () => (await readdir(here)).filter((name) => name.startsWith('began'));
    await expect.poll(began, { timeout: 30_000 }).toHaveLength(2);
    await client(temporaryDirectory(), ...as('other'), 'clone', '-q', url('site'), '.');
    await writeFile(join(here, 'over'), '');
    await Promise.all(fetches);
  });

  it('looks for hidden objects only where there are some', async () => {
    const { repository, url, work, ended, oidAt, above } = await served();
    await client(work, 'init', '-q');
    const walks = async (revision: string) => {
      ended.length = 0;
      await client(work, 'fetch', '-q', url, oidAt(revision));
      return ended.filter((command) => command === 'rev-list').length;
    };
    expect(await walks('main~3:a.md')).toBe(0);
    await repository.rescue('leak', above);
    expect(await walks('main~2:a.md')).toBe(1);
  });

  it.each(['blob:none', 'tree:0'])(
    'brings what a branch shares with a commit that is kept aside, to partial clones: %s',
    async (filter) => {
      const { repository, url, work, main, oidAt } = await served();
      await repository.createBranch('former', main);
      const files = { 'new.md': 'new', 'gone.md': 'gone' };
      const former = (await save(repository, files, { branch: 'former' })).commit?.sha ?? '';
      await repository.rescue('former', former);
      await repository.deleteBranch('former', former);
      await save(repository, { 'new.md': 'new' });
      await save(repository, { 'new.md': 'newer' });
      await client(work, 'clone', '-q', `--filter=${filter}`, url, '.');
      expect(await client(work, 'log', '-p', '--', 'new.md')).toContain('-new');
      await client(work, 'fetch', '-q', url, oidAt('main~1:new.md'));
      await expect(client(work, 'fetch', '-q', url, oidAt(`${former}:gone.md`))).rejects.toThrow('not our ref');
    },
  );

  it('brings what a pull request was proposed to, which a branch had', async () => {
    const { repository, url, work, above, main } = await served();
    await client(work, 'init', '-q');
    await repository.updateRefs([{ name: 'refs/portico/pull/1/base', to: above }]);
    await client(work, 'fetch', '-q', '--depth=1', url, main);
    await client(work, 'fetch', '-q', url, above);
    await repository.rescue('leak', above);
    await client(temporaryDirectory(), 'clone', '-q', url, '.');
    await client(work, 'fetch', '-q', url, above);
  });

  it('goes on for clients of a branch that is gone', async () => {
    const { repository, url, work, main } = await served();
    await repository.createBranch('topic', main);
    const topic = (await save(repository, { 'topic.md': 'topic' }, { branch: 'topic' })).commit?.sha ?? '';
    await client(work, 'clone', '-q', '--filter=blob:none', url, '.');
    await repository.deleteBranch('topic', topic);
    await client(work, 'checkout', '-q', '-b', 'mine', 'origin/topic');
    expect(await readFile(join(work, 'topic.md'), 'utf8')).toBe('topic');
    await client(work, 'fetch', '-q', url, topic);
  });

  it.each(['blob:none', 'tree:0'])(
    'fills the gaps of a partial clone, also those of old commits: %s',
    async (filter) => {
      const { url, work } = await served();
      await client(work, 'clone', '-q', `--filter=${filter}`, url, '.');
      expect(await readFile(join(work, 'a.md'), 'utf8')).toBe('three');
      expect(await client(work, 'log', '-p')).toContain('-one');
      expect(await client(work, 'show', 'HEAD~3:one.md')).toBe('one');
    },
  );

  it('starts no other process for a clone, nor for a fetch of what is new', async () => {
    const { repository, url, work, ended } = await served();
    const commands = async (...args: string[]) => {
      ended.length = 0;
      await client(work, ...args);
      return new Set(ended);
    };
    const only = new Set(['upload-pack']);
    expect(await commands('clone', '-q', url, '.')).toEqual(only);
    await save(repository, { 'a.md': 'four' });
    ended.length = 0;
    expect(await commands('fetch', '-q')).toEqual(only);
    expect(await commands('clone', '-q', '--depth=1', url, 'shallow')).toEqual(only);
  });
});

it('a push of what its client wrote starts no process to look for hidden objects', async () => {
  const ended: string[] = [];
  const metrics = { gitProcess: (command: string) => void ended.push(command), gitWriters() {} };
  const { store, path } = testStore({ metrics });
  const repository = await store.create('site', 'main');
  const text = Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join('');
  await save(repository, { 'posts/a.md': text, 'posts/b.md': text.replace('7', 'seven') });
  let looks = false;
  const hidden: (string | null)[] = [];
  const { url } = await gitOverHttp(store, {
    async authorizePush(commands, pushed) {
      await pushed.commitOf(commands[0]?.new ?? '');
      if (looks) hidden.push(await pushed.hidden());
      return { allow: true };
    },
  });
  const work = temporaryDirectory();
  await client(work, 'clone', '-q', url('site'), '.');
  const pushed = async (change: string) => {
    await writeFile(join(work, 'posts/a.md'), text.replace('line 9', change));
    await client(work, 'commit', '-qam', change);
    ended.length = 0;
    await client(work, 'push', '-q', 'origin', 'HEAD');
    return [...ended].sort();
  };
  const before = await pushed('one');
  looks = true;
  expect(await pushed('two')).toEqual(before);
  expect(hidden).toEqual([null]);
  // The client sent the file as a delta, whose base git has put into the pack.
  const packs = join(path('site'), 'objects/pack');
  const names = (await readdir(packs)).filter((name) => name.endsWith('.idx'));
  const indexes = await Promise.all(names.map((name) => readFile(join(packs, name))));
  const packed = indexes.map((index) => git(path('site'), ['show-index'], index)).join('\n');
  expect(packed).toContain(git(work, ['rev-parse', 'HEAD~2:posts/a.md']));
});
