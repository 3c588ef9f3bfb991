import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GitProcesses } from '../../../src/engines/git/git-process.ts';
import { GitTime } from '../../../src/engines/git/history/introduced.ts';
import { CatFile } from '../../../src/engines/git/objects/cat-file.ts';
import { Tree } from '../../../src/engines/git/objects/tree-codec.ts';
import type { GitStoreOptions } from '../../../src/engines/git/store.ts';
import { headOf } from '../../../src/engines/git/transfer/push.ts';
import { packetLine } from '../../../src/engines/git/transfer/push-answer.ts';
import { PushHooks } from '../../../src/engines/git/transfer/push-hook.ts';
import { currentCaller, Pace } from '../../../src/lib/concurrency.ts';
import type {
  GitServeRequest,
  PushCommand,
  PushedChange,
  PushedObjects,
  PushResult,
  PushVerdict,
} from '../../../src/ports/git-transfer.ts';
import { client } from '../../support/git-client.ts';
import { gitOverHttp, servePush } from '../../support/git-http.ts';
import { fsck, git, replaceGit, save, temporaryDirectory, testStore } from '../../support/git-store.ts';
import { processesWith } from '../../support/processes.ts';

type Authorize = NonNullable<GitServeRequest['authorizePush']>;

/** A served repository with one commit on main and a clone of it; `authorize` may be replaced. */
async function pushable(dataDir = temporaryDirectory(), limits: GitStoreOptions['limits'] = {}) {
  const made = testStore({ dataDir, limits });
  const repository = await made.store.create('site', 'main');
  await save(repository, { 'posts/a.md': 'one\n', 'src/code.js': 'x\n' });
  const rules: { authorize: Authorize } = { authorize: async () => ({ allow: true }) };
  const http = await gitOverHttp(made.store, { authorizePush: (...args) => rules.authorize(...args) });
  const work = temporaryDirectory();
  await client(work, 'clone', '-q', http.url('site'), 'copy');
  const copy = join(work, 'copy');
  const commit = async (path: string, text: string) => {
    mkdirSync(join(copy, path, '..'), { recursive: true });
    writeFileSync(join(copy, path), text);
    await client(copy, 'add', '.');
    await client(copy, 'commit', '-qm', `Write ${path}`);
    return git(copy, ['rev-parse', 'HEAD']);
  };
  return { ...made, repository, rules, gitDir: made.path('site'), copy, commit, http };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const sorted = (changes: PushedChange[]) => changes.map(({ path, status, mode }) => `${status} ${mode} ${path}`).sort();

describe('the quarantine of a push', () => {
  it('stays while its process lives, and goes with maintenance a day after that was killed', async () => {
    const { store, rules, gitDir, copy, commit, repository } = await pushable();
    const found = () => readdirSync(join(gitDir, 'objects')).filter((name) => name.startsWith('tmp_objdir-'));
    const agedBy = (hours: number) => {
      const then = new Date(Date.now() - hours * 3600_000);
      for (const name of found()) {
        const place = join(gitDir, 'objects', name);
        for (const below of ['', ...readdirSync(place, { recursive: true, encoding: 'utf8' })])
          utimesSync(join(place, below), then, then);
      }
    };
    const killed = async () => {
      const pids = await processesWith(`receive-pack --stateless-rpc ${gitDir}`);
      expect(pids).toHaveLength(1);
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      return { allow: false, message: 'gone' } as const;
    };
    rules.authorize = killed;
    await commit('posts/b.md', 'two');
    await expect(client(copy, 'push', '-q', 'origin', 'main')).rejects.toThrow();
    expect(found()).toHaveLength(1);
    agedBy(23);
    rules.authorize = async () => {
      await store.maintain('site', 'light');
      expect(found()).toHaveLength(2);
      return { allow: true };
    };
    const head = await commit('posts/c.md', 'three');
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(await repository.head('main')).toBe(head);
    expect(found()).toHaveLength(1);
    agedBy(25);
    await store.maintain('site', 'light');
    expect(found()).toEqual([]);
    fsck(gitDir);
  });
});

describe('what merges introduce', () => {
  /** Two branches with a line each, merged by hand. */
  async function merged() {
    const made = await pushable();
    const { copy, commit } = made;
    await client(copy, 'checkout', '-qb', 'side');
    await commit('posts/a.md', 'side');
    await client(copy, 'checkout', '-q', 'main');
    await commit('posts/a.md', 'main');
    await client(copy, 'merge', '-q', '-s', 'ours', 'side');
    writeFileSync(join(copy, 'posts/a.md'), 'both');
    await client(copy, 'commit', '-qam', 'Merge', '--amend');
    return made;
  }

  it('is found out by processes that have 20 s of processor time each', async () => {
    const { rules, copy } = await merged();
    let [found, home]: [string[], string] = [[], ''];
    rules.authorize = async ([command], pushed) => {
      home = replaceGit(`
        case "$*" in *"--raw"*|*"merge-tree"*|*"diff-tree"*) echo "$(ulimit -S -t)" >> $here/seconds ;; esac
        exec $git "$@"`);
      found = sorted(await all(pushed.introduced(command?.new ?? '')));
      vi.unstubAllEnvs();
      return { allow: true };
    };
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(new Set(found)).toEqual(new Set(['modified 100644 posts/a.md']));
    const seconds = readFileSync(join(home, 'seconds'), 'utf8').trim().split('\n');
    expect(seconds).toEqual(Array(5).fill('20'));
  });

  it('is found out in one time for all refs of a push', async () => {
    const { rules, copy } = await merged();
    const wait = vi.spyOn(GitTime.prototype, 'wait');
    onTestFinished(() => wait.mockRestore());
    rules.authorize = async (commands, pushed) => {
      for (const { new: head } of commands) await all(pushed.introduced(head ?? ''));
      return { allow: true };
    };
    await client(copy, 'push', '-q', 'origin', 'main', 'side');
    expect(wait.mock.calls.length).toBeGreaterThan(4);
    expect(new Set(wait.mock.contexts).size).toBe(1);
  });

  it('is given up with what a merge is made for', async () => {
    const { repository, copy } = await merged();
    await client(copy, 'push', '-q', 'origin', 'main', 'side');
    const [main = '', side = ''] = await Promise.all(
      ['main', 'side'].map(async (name) => (await repository.head(name)) ?? ''),
    );
    expect(await all(repository.introduced([main], side, new AbortController().signal))).not.toEqual([]);
    const introduced = repository.introduced([main], side, AbortSignal.abort(new Error('its turn is over')));
    await expect(all(introduced)).rejects.toThrow('its turn is over');
  });

  it('is given up when somebody has waited a minute for git, whatever time its consumers take', async () => {
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const time = new GitTime();
    async function* slow(each: number) {
      for (let at = 0; at < 3; at += 1) {
        now += each;
        yield at;
      }
    }
    for await (const _ of time.steps(slow(15_000))) now += 100_000;
    expect(await time.wait(async () => (now += 15_200))).toBe(now);
    await expect(time.wait(async () => 'more')).rejects.toMatchObject({ code: 'git_timeout' });
    await expect(all(time.steps(slow(1)))).rejects.toMatchObject({ code: 'git_timeout' });
  });
});

describe('a push that is decided about', () => {
  it('shows its commands and objects before anything is stored', async () => {
    const { repository, rules, gitDir, copy, commit } = await pushable();
    const before = await repository.head('main');
    const seen: { commands: readonly PushCommand[]; introduced: string[] }[] = [];
    rules.authorize = async (commands, pushed) => {
      const { new: new_ } = commands[0] as PushCommand;
      seen.push({
        commands,
        introduced: sorted(await all(pushed.introduced(new_ ?? ''))),
      });
      expect(await repository.head('main')).toBe(before);
      return { allow: true };
    };
    await commit('posts/b.md', 'two');
    await commit('src/evil.js', 'x');
    await client(copy, 'rm', '-q', 'src/evil.js', 'posts/a.md');
    await client(copy, 'update-index', '--chmod=+x', 'posts/b.md');
    await client(copy, 'commit', '-qm', 'Remove');
    const head = git(copy, ['rev-parse', 'HEAD']);
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(await repository.head('main')).toBe(head);
    expect(seen).toEqual([
      {
        commands: [{ ref: 'refs/heads/main', old: before, new: head, forced: false }],
        introduced: [
          'added 100644 posts/b.md',
          'added 100644 src/evil.js',
          'modified 100755 posts/b.md',
          'removed 100644 posts/a.md',
          'removed 100644 src/evil.js',
        ],
      },
    ]);
    fsck(gitDir);
  });

  it('is decided about as work of who pushes, and not of who has pushed first', async () => {
    const { store } = testStore();
    await save(await store.create('site', 'main'), { 'a.md': 'one' });
    const seen: string[] = [];
    let caller = 'first';
    const authorizePush: Authorize = async () => {
      seen.push(currentCaller());
      return { allow: true };
    };
    const { url } = await gitOverHttp(store, { authorizePush, client: () => caller });
    const work = temporaryDirectory();
    await client(work, 'clone', '-q', url('site'), '.');
    await client(work, 'push', '-q', 'origin', 'HEAD:refs/heads/one');
    caller = 'second';
    await client(work, 'push', '-q', 'origin', 'HEAD:refs/heads/two');
    expect(seen).toEqual(['first', 'second']);
  });

  it('is compared with what its branches were by a few processes at the same time', async () => {
    const { copy, commit } = await pushable();
    const branches = Array.from({ length: 30 }, (_, at) => `HEAD:refs/heads/b${at}`);
    await client(copy, 'push', '-q', 'origin', ...branches);
    const { run } = GitProcesses.prototype;
    let [open, most] = [0, 0];
    const spy = vi.spyOn(GitProcesses.prototype, 'run').mockImplementation(function (this: GitProcesses, ...given) {
      open += 1;
      most = Math.max(most, open);
      return run.apply(this, given).finally(() => {
        open -= 1;
      });
    });
    onTestFinished(() => spy.mockRestore());
    await commit('posts/a.md', 'two');
    await client(copy, 'push', '-q', 'origin', ...branches);
    expect(spy.mock.calls.filter(([args]) => args[0] === 'merge-base')).toHaveLength(30);
    expect(most).toBeLessThan(10);
  });

  it('has the beginning of a file read once, and not all of a large one', async () => {
    const { rules, copy } = await pushable();
    const large = Buffer.alloc(6 * 1024 * 1024, 'large');
    const files: [string, string | Buffer][] = [...Array(20).keys()].map((at) => [`small${at}.txt`, 'small']);
    for (const [path, content] of [...files, ['large.bin', large] as const]) writeFileSync(join(copy, path), content);
    await client(copy, 'add', '.');
    await client(copy, 'commit', '-qm', 'Files');
    const asked = vi.spyOn(CatFile.prototype, 'ask');
    onTestFinished(() => asked.mockRestore());
    const found: { size: number; head: Buffer }[] = [];
    rules.authorize = async (commands, pushed) => {
      for await (const { oid } of pushed.introduced(commands[0]?.new ?? ''))
        found.push(await pushed.blob(oid ?? '', 1e9));
      return { allow: true };
    };
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(found.map(({ size }) => size)).toEqual([large.length, ...Array(20).fill(5)]);
    expect(found[0]?.head.equals(large.subarray(0, found[0].head.length))).toBe(true);
    expect(found[0]?.head.length).toBe(4096);
    const [oid, small] = ['large.bin', 'small0.txt'].map((path) => git(copy, ['rev-parse', `HEAD:${path}`]));
    const reads = (of: string | undefined) => asked.mock.calls.filter(([one, isWhole]) => one === of && isWhole).length;
    expect([reads(oid), reads(small)]).toEqual([0, 1]);
  });

  it.each([
    ['takes files', 12, null],
    ['is refused for files', 11, /the media of one push may hold 11 bytes without manage_studio; push fewer files/],
  ])('%s that hold so much together as may be read: of %i bytes', async (_what, judgedBytes, refusal) => {
    const { rules, copy, commit } = await pushable(undefined, { judgedBytes });
    for (const name of ['one', 'two', 'six']) await commit(`${name}.txt`, name.padEnd(4));
    rules.authorize = async (commands, pushed) => {
      for await (const { oid } of pushed.introduced(commands[0]?.new ?? '')) await pushed.blob(oid ?? '', 100);
      return { allow: true };
    };
    const pushing = client(copy, 'push', '-q', 'origin', 'main');
    if (refusal === null) await pushing;
    else await expect(pushing).rejects.toThrow(refusal);
  });

  it('holds the names of a directory against each other once, in many steps, for however many new files', async () => {
    const { rules, copy } = await pushable();
    const names = Array.from({ length: 400 }, (_, n) => `ςѣ${n}`);
    const blob = git(copy, ['rev-parse', 'HEAD:posts/a.md']);
    const list = [...names, 'Ѳ', 'ѳ'].map((name) => `100644 blob ${blob}\t${name}\n`).join('');
    const posts = git(copy, ['mktree'], Buffer.from(list));
    const root = git(copy, ['mktree'], Buffer.from(`040000 tree ${posts}\tposts\n`));
    const tip = git(copy, ['commit-tree', root, '-p', 'HEAD', '-m', 'Names']);
    let rivals: (string | null)[] = [];
    const seen = { normalised: 0, read: 0, yields: 0 };
    rules.authorize = async (_commands, pushed) => {
      const spies = [
        vi.spyOn(String.prototype, 'normalize'),
        vi.spyOn(Tree, 'read'),
        vi.spyOn(Pace.prototype, 'yield').mockResolvedValue(),
      ] as const;
      const isDue = vi.spyOn(Pace.prototype, 'isDue', 'get').mockReturnValue(true);
      const files = [...names, 'ѳ', 'Ѳ', 'gone'].map((name) => `posts/${name}`);
      rivals = await Promise.all(files.map((file) => pushed.rival(tip, file)));
      const [normalised = 0, read = 0, yields = 0] = spies.map(({ mock }) => mock.calls.length);
      Object.assign(seen, { normalised, read, yields });
      for (const spy of [...spies, isDue]) spy.mockRestore();
      return { allow: true };
    };
    await client(copy, 'push', '-q', 'origin', `${tip}:refs/heads/names`);
    expect(rivals).toEqual([...names.map(() => null), 'posts/Ѳ', 'posts/ѳ', null]);
    expect(seen.read).toBe(2);
    expect(seen.normalised).toBeLessThan(10 * names.length);
    expect(seen.yields).toBeGreaterThan(names.length);
  });

  it('has faulty objects only where the repository has them not, whatever the client sends', async () => {
    const { repository, rules, copy, commit } = await pushable();
    const literal = (date: string) => {
      const head = git(copy, ['rev-parse', 'HEAD', 'HEAD^{tree}']).split('\n');
      const lines = `tree ${head[1]}\nparent ${head[0]}\nauthor A <a@x> ${date} +0000\ncommitter C <c@x> 1 +0000\n\nx\n`;
      return git(copy, ['hash-object', '-w', '-t', 'commit', '--literally', '--stdin'], lines);
    };
    const seen: Awaited<ReturnType<PushedObjects['faulty']>>[] = [];
    rules.authorize = async (_commands, pushed) => {
      seen.push(await pushed.faulty());
      return { allow: true };
    };
    const old = literal('01');
    await client(copy, 'reset', '-q', '--hard', old);
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(seen.splice(0)).toEqual([{ oid: old, fault: expect.stringMatching(/^zeroPaddedDate: /) }]);
    await client(copy, 'push', '-q', 'origin', 'main:refs/heads/same');
    await repository.deleteBranch('same', old);
    // The client has no commit that a branch here leads to, and sends its history from the beginning.
    await save(repository, { 'posts/later.md': 'later' });
    await commit('posts/b.md', 'two');
    await client(copy, 'push', '-q', 'origin', 'HEAD:refs/heads/topic');
    expect(seen.splice(0)).toEqual([null, null]);
    // git warns of such a tag, and takes it everywhere.
    const tag = `object ${old}\ntype commit\ntag odd\n\nNobody's\n`;
    const odd = git(copy, ['hash-object', '-w', '-t', 'tag', '--literally', '--stdin'], tag);
    await client(copy, 'push', '-q', 'origin', `${odd}:refs/tags/odd`);
    expect(seen.splice(0)).toEqual([null]);
    const newer = literal('02');
    await client(copy, 'push', '-q', 'origin', `${newer}:refs/heads/topic`);
    expect(seen).toEqual([expect.objectContaining({ oid: newer })]);
  });

  it('leaves nothing behind when it is refused, and says why', async () => {
    const { repository, rules, gitDir, copy, commit } = await pushable();
    const before = await repository.head('main');
    rules.authorize = async () => ({ allow: false, message: 'posts only, please\u001b[2J\nsecond line' });
    const pushed = await commit('src/x.js', 'x');
    const said = await client(copy, 'push', 'origin', 'main', 'main:refs/heads/other').catch(({ stderr }) => stderr);
    expect(said).toMatch(/remote: posts only, please\?\[2J\s*\nremote: second line/);
    expect(said.match(/pre-receive hook declined/g)).toHaveLength(2);
    expect((await repository.branches()).map(({ oid }) => oid)).toEqual([before]);
    expect(() => git(gitDir, ['cat-file', '-e', pushed])).toThrow();
    expect(readdirSync(join(gitDir, 'objects')).filter((name) => name.startsWith('tmp'))).toEqual([]);
    rules.authorize = () => Promise.reject(new Error('database away'));
    await expect(client(copy, 'push', 'origin', 'main')).rejects.toThrow(/remote: this push could not be checked/);
    expect(await repository.head('main')).toBe(before);
  });

  it('may rewrite, delete and move tags when allowed, and is distinguished by `forced`', async () => {
    const { repository, rules, copy, commit } = await pushable();
    const seen: string[] = [];
    rules.authorize = async (commands) => {
      for (const command of commands)
        seen.push(`${command.ref} ${command.old && 'old'} ${command.new && 'new'} ${command.forced}`);
      return { allow: true };
    };
    await commit('posts/b.md', 'two');
    await client(copy, 'tag', 'v1');
    await client(copy, 'push', '-q', 'origin', 'main', 'main:topic', 'v1');
    await client(copy, 'commit', '-q', '--amend', '-m', 'other');
    await client(copy, 'tag', '-f', 'v1');
    await client(copy, 'push', '-q', '--force', 'origin', 'main', 'v1');
    await client(copy, 'push', '-q', 'origin', ':topic');
    expect(seen).toEqual([
      'refs/heads/main old new false',
      'refs/heads/topic null new false',
      'refs/tags/v1 null new false',
      'refs/heads/main old new true',
      'refs/tags/v1 old new true',
      'refs/heads/topic old null false',
    ]);
    expect(await repository.head('main')).toBe(git(copy, ['rev-parse', 'HEAD']));
    expect(await repository.head('topic')).toBeNull();
    await expect(client(copy, 'push', 'origin', ':main')).rejects.toThrow(/refusing to delete the current branch/);
    await expect(client(copy, 'push', 'origin', 'main:refs/pull/1/head')).rejects.toThrow(
      /remote: only branches and tags can be pushed/,
    );
  });

  it('shows of a merge only what it adds to its parents', async () => {
    const { rules, copy, commit } = await pushable();
    await client(copy, 'checkout', '-qb', 'side');
    await commit('src/side.js', 'admitted');
    await client(copy, 'push', '-q', 'origin', 'side');
    await client(copy, 'checkout', '-q', 'main');
    await commit('posts/c.md', 'three');
    await client(copy, 'merge', '-q', '--no-commit', 'side');
    writeFileSync(join(copy, 'src/code.js'), 'slipped in\n');
    await client(copy, 'add', '.');
    await client(copy, 'commit', '-qm', 'Merge');
    let introduced: string[] = [];
    rules.authorize = async ([command], pushed) => {
      introduced = sorted(await all(pushed.introduced(command?.new ?? '')));
      return { allow: true };
    };
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(introduced).toEqual(['added 100644 posts/c.md', 'modified 100644 src/code.js']);
  });

  it('keeps writers off its branches until it is done, and no longer', async () => {
    const { repository, rules, copy, commit, gitDir } = await pushable();
    await commit('posts/b.md', 'two');
    const late: Promise<unknown>[] = [];
    rules.authorize = async () => {
      await save(repository, { 'other.md': '1' }, { branch: 'main' }).then(() => {});
      return { allow: true };
    };
    // Moved while it was decided about: git compares, the writer in front stays.
    await expect(client(copy, 'push', 'origin', 'main')).rejects.toThrow(
      /remote rejected|failed to update ref|cannot lock/,
    );
    await client(copy, 'pull', '-q', '--rebase', 'origin', 'main');
    rules.authorize = async () => {
      // After the hold was taken, before git has moved the branch.
      setImmediate(() => late.push(save(repository, { 'late.md': '1' })));
      return { allow: true };
    };
    await client(copy, 'push', '-q', 'origin', 'main');
    await Promise.all(late);
    expect(git(gitDir, ['ls-tree', '-r', '--name-only', 'main'])).toBe(
      'late.md\nother.md\nposts/a.md\nposts/b.md\nsrc/code.js',
    );
    fsck(gitDir);
  });

  it('loses nothing among writers of the same branch', async () => {
    const { repository, copy, commit, gitDir } = await pushable();
    let stop = false;
    const shas: string[] = [];
    const writing = (async () => {
      for (let at = 0; !stop; at += 1)
        shas.push((await save(repository, { [`w${at % 7}`]: `${at}` })).commit?.sha ?? '');
    })();
    let done = 0;
    for (let turn = 0; turn < 12 && done < 3; turn += 1) {
      await commit(`posts/p${turn}.md`, 'x');
      await client(copy, 'pull', '-q', '--rebase', 'origin', 'main');
      await client(copy, 'push', '-q', 'origin', 'main').then(
        () => (done += 1),
        () => {},
      );
    }
    stop = true;
    await writing;
    const history = new Set(git(gitDir, ['rev-list', 'main']).split('\n'));
    for (const sha of shas) expect(history).toContain(sha);
    fsck(gitDir);
  });

  it('delays no other push when its client goes away during authorization', async () => {
    const { repository, rules, copy, commit, http } = await pushable();
    const before = await repository.head('main');
    await commit('posts/b.md', 'two');
    let decide = (_: PushVerdict) => {};
    const requested = new Promise<void>((resolve) => {
      rules.authorize = () => {
        resolve();
        return new Promise((answer) => (decide = answer));
      };
    });
    const push = spawn('git', ['push', '-q', 'origin', 'main'], { cwd: copy, stdio: 'ignore', detached: true });
    await requested;
    // The whole group: git leaves talking to a helper of its own.
    process.kill(-(push.pid ?? 0), 'SIGKILL');
    while (http.refusals.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    decide({ allow: true });
    const { commit: saved } = await save(repository, { 'after.md': '1' });
    expect(saved?.parents).toEqual([before]);
  });

  it('is undone when the server stops while it is decided about', async () => {
    const { store, repository, rules, copy, commit } = await pushable();
    const before = await repository.head('main');
    await commit('posts/b.md', 'two');
    let decide = (_: PushVerdict) => {};
    const requested = new Promise<void>((resolve) => {
      rules.authorize = () => {
        resolve();
        return new Promise((answer) => (decide = answer));
      };
    });
    const push = client(copy, 'push', 'origin', 'main').catch((error) => error);
    await requested;
    const closed = store.close();
    decide({ allow: true });
    await closed;
    expect(await push).toBeInstanceOf(Error);
    expect(await repository.head('main')).toBe(before);
  });
});

describe('the commands of a push', () => {
  const zero = '0'.repeat(40);
  const deletion = (name: string) => packetLine(`${'1'.repeat(40)} ${zero} refs/heads/${name}`);
  const deletions = (count: number) => Array.from({ length: count }, (_, at) => deletion(`b${at}`)).join('');
  const head = (content: string) => headOf(new PassThrough().end(`${content}0000PACK`));

  /** What a client is answered, what is known of its push then, and for what git was started. */
  async function pushed(body: string) {
    const started: string[] = [];
    const { store } = testStore({ metrics: { gitProcess: (command) => void started.push(command), gitWriters() {} } });
    await store.create('site', 'main');
    let result: PushResult | null = null;
    const { output, served } = servePush(store, body, { settledPush: (ended) => (result = ended) });
    await served;
    return { answer: await text(output), result: result as PushResult | null, started };
  }

  it('are 10,000 at most: git is not started for more', async () => {
    expect(await head(deletions(10_000))).toMatchObject({ excess: null, commands: { length: 10_000 } });
    const { answer, result, started } = await pushed(`${deletions(10_001)}0000`);
    expect(answer).toBe(`${packetLine('unpack one push may move 10000 refs; push fewer at a time\n')}0000`);
    expect(started).toEqual([]);
    expect(result).toMatchObject({ commands: { length: 10_000 }, moved: [] });
  });

  it('take 4 MiB at most', async () => {
    const line = deletion('x'.repeat(65_400));
    const most = Math.floor((4 * 1024 * 1024) / line.length);
    expect(await head(line.repeat(most))).toMatchObject({ excess: null });
    const { answer, started } = await pushed(`${line.repeat(most + 1)}0000`);
    expect(answer).toContain('unpack the names of the refs of one push may take 4 MiB together');
    expect(started).toEqual([]);
  });

  it('are followed by at most 1,000 options, of 64 KiB: git is not started for more', async () => {
    const begun = (capabilities: string) => packetLine(`${'1'.repeat(40)} ${zero} refs/heads/x\0 ${capabilities}\n`);
    const withOptions = (options: string, capabilities = 'report-status push-options') =>
      `${begun(capabilities)}0000${options}`;
    const long = packetLine('x'.repeat(16 * 1024 - 4));
    const many = 'one push may have 1000 options; push with fewer of them';
    const large = 'the options of one push may take 64 KiB together; push with shorter ones, or fewer';
    for (const [options, excess] of [
      [packetLine('a').repeat(1_000), null],
      [packetLine('a').repeat(1_001), many],
      // For git an empty one is an option, too.
      ['0004'.repeat(1_001), many],
      [long.repeat(4), null],
      [long.repeat(4) + packetLine(''), large],
    ] as const)
      expect(await head(withOptions(options))).toMatchObject({ excess, commands: { length: 1 } });
    for (const odd of ['push-options=x', 'a\tpush-options\0b', 'push-options'])
      expect(await head(withOptions('0004'.repeat(1_001), odd))).toMatchObject({ excess: many });
    // Nothing but the objects follows where none are announced.
    for (const other of ['report-status', 'no-push-options', 'agent=push-options'])
      expect(await head(withOptions('0004'.repeat(1_001), other))).toMatchObject({ excess: null });
    const { answer, result, started } = await pushed(`${withOptions(packetLine('a').repeat(1_001))}0000`);
    expect(answer).toBe(`${packetLine(`unpack ${many}\n`)}0000`);
    expect(started).toEqual([]);
    expect(result).toMatchObject({ commands: { length: 1 }, moved: [] });
  });

  it('stand before a pack whose objects are counted where git finds it', async () => {
    const command = (capabilities: string) =>
      packetLine(`${'1'.repeat(40)} ${'2'.repeat(40)} refs/heads/x\0 ${capabilities}`);
    const pack = (count: number) => `PACK\0\0\0\x02\0\0\0${String.fromCharCode(count)}`;
    const sent = async (...parts: string[]) => {
      const input = new PassThrough();
      for (const part of parts) input.write(part);
      return (await headOf(input.end())).sent;
    };
    expect(await sent(`${command('push-options')}0000${packetLine('a')}0000${pack(7)}objects`)).toBe(7);
    expect(await sent(`${command('ofs-delta')}0000`, pack(8).slice(0, 5), `${pack(8).slice(5)}objects`)).toBe(8);
    expect(await sent(`${command('ofs-delta')}0000`)).toBe(0);
    expect(await sent(`${command('ofs-delta')}0000pack of another kind`)).toBe(0);
    // No options follow for git, so what looks like some is the pack.
    for (const odd of ['a\0 push-options', 'a\u00a0push-options', 'a\vpush-options'])
      expect(await sent(`${command(odd)}0000${pack(1)}${packetLine('a')}0000${pack(9)}objects`)).toBe(1);
  });

  it('are all seen here that git would see', async () => {
    const line = `${zero} ${'a'.repeat(40)} refs/heads/x`;
    const expected = { commands: [{ ref: 'refs/heads/x', old: null, new: 'a'.repeat(40) }], excess: null };
    for (const end of ['', '\n', '\0 report-status\n'])
      expect(await head(packetLine(`shallow ${zero}`) + packetLine(line + end))).toMatchObject(expected);
    for (const odd of [line.toUpperCase(), `${line}\nx`, `${line}\n\0`, 'push-cert\0 report-status\n'])
      await expect(head(packetLine(odd))).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('are refused in words that a client shows', async () => {
    const { rules, repository, copy } = await pushable();
    rules.authorize = () => Promise.reject(new Error('this is not decided about'));
    const oid = git(copy, ['rev-parse', 'HEAD']);
    const names = Array.from({ length: 1100 }, (_, at) => `refs/many/${at}${'x'.repeat(4000)}`);
    writeFileSync(join(copy, '.git/packed-refs'), names.map((name) => `${oid} ${name}\n`).join(''));
    const push = client(copy, 'push', '-q', 'origin', 'refs/many/*:refs/heads/*');
    expect(await push.catch(({ stderr }) => stderr)).toContain(
      'error: remote unpack failed: the names of the refs of one push may take 4 MiB together; push fewer at a time',
    );
    expect(await repository.branches()).toHaveLength(1);
  });
});

describe('the hook', () => {
  it('takes no call of more than 8 MiB', async () => {
    const hooks = new PushHooks(join(temporaryDirectory(), 'hooks'));
    onTestFinished(() => hooks.close());
    const call = async (padding: number) => {
      const { env } = await hooks.open(async () => ({ allow: true }));
      const socket = connect(env.PORTICO_SOCKET ?? '').on('error', () => {});
      socket.end(JSON.stringify({ nonce: env.PORTICO_NONCE, quarantine: null, lines: '' }) + ' '.repeat(padding));
      return text(socket).catch(() => '');
    };
    expect(await call(0)).toBe('{"allow":true}');
    expect(await call(8 * 1024 * 1024)).toBe('');
  });

  it('works from paths with spaces and far too long for a socket', async () => {
    const odd = join(temporaryDirectory(), "a 'strange' $dir", 'x'.repeat(120));
    mkdirSync(odd, { recursive: true });
    const node = join(odd, 'my node');
    symlinkSync(process.execPath, node);
    const { execPath } = process;
    process.execPath = node;
    onTestFinished(() => {
      process.execPath = execPath;
    });
    const { repository, copy, commit } = await pushable(odd);
    const head = await commit('posts/b.md', 'two');
    await client(copy, 'push', '-q', 'origin', 'main');
    expect(await repository.head('main')).toBe(head);
  });

  it('fails closed when it cannot be run', async () => {
    const { repository, dataDir, copy, commit, http, gitDir } = await pushable();
    const before = await repository.head('main');
    await commit('posts/b.md', 'two');
    // The first push writes it.
    await client(copy, 'push', '-q', 'origin', 'main:warm');
    const hook = join(dataDir, 'git/.hooks/pre-receive');
    expect(existsSync(hook)).toBe(true);
    chmodSync(hook, 0o600);
    await expect(client(copy, 'push', 'origin', 'main')).rejects.toThrow();
    expect(http.refusals).toEqual(['unavailable']);
    chmodSync(hook, 0o700);
    writeFileSync(join(dataDir, 'git/.hooks/pre-receive.cjs'), 'process.exit(1)');
    await expect(client(copy, 'push', 'origin', 'main')).rejects.toThrow(/pre-receive hook declined/);
    expect(git(gitDir, ['rev-parse', 'main'])).toBe(before);
  });
});
