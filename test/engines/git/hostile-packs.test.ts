import { createCipheriv } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tally } from '../../../src/ports/tally.ts';
import { client } from '../../support/git-client.ts';
import { gitOverHttp } from '../../support/git-http.ts';
import { fsck, git, save, temporaryDirectory, testStore } from '../../support/git-store.ts';
import { append, commitOf, emptyTreeEntry, oidOf, pack, pushOf, repeat, treeOf } from '../../support/packs.ts';

const mebibyte = 1024 * 1024;
const zeros = { type: 'blob', content: Buffer.alloc(mebibyte) } as const;
const commit = commitOf();
const head = oidOf('commit', commit.content);

/** A served repository and a client that sends packs made by hand. */
async function target(options: Parameters<typeof testStore>[0] = {}) {
  const made = testStore({ memory: 256 * mebibyte, ...options });
  const repository = await made.store.create('site', 'main');
  await save(repository, { 'a.md': 'one\n' });
  const http = await gitOverHttp(made.store, { authorizePush: async () => ({ allow: true }) });
  const gitDir = made.path('site');
  const stored = () =>
    [...readdirSync(gitDir, { recursive: true, encoding: 'utf8' })].filter((path) => !path.endsWith('.lock')).sort();
  const send = async (body: Buffer, oid = head, refs: readonly string[] = ['refs/heads/evil']) => {
    const response = await fetch(`${http.url('site')}/git-receive-pack`, {
      method: 'POST',
      body: new Uint8Array(pushOf(oid, refs, body)),
    });
    return { status: response.status, text: await response.text() };
  };
  return { ...made, repository, http, gitDir, stored, send };
}

/** A pack of less than a kilobyte with an object of so many MiB. */
const bomb = (size: number) =>
  pack([
    commit,
    emptyTreeEntry,
    zeros,
    { base: 1, delta: repeat(mebibyte, mebibyte, 15) },
    { base: 1, delta: repeat(15 * mebibyte, 15 * mebibyte, Math.ceil(size / 15)) },
  ]);

/** Tags of tags, the first one of a commit. */
function chainOf(length: number) {
  const tags: { type: 'tag'; content: Buffer }[] = [];
  let oid: string = head;
  for (let at = 0; at < length; at++) {
    const lines: string[] = [
      `object ${oid}`,
      `type ${at === 0 ? 'commit' : 'tag'}`,
      `tag t${at}`,
      'tagger Eve <eve@example.org> 1700000000 +0000',
    ];
    const tag = { type: 'tag', content: Buffer.from(`${lines.join('\n')}\n\nx\n`) } as const;
    tags.push(tag);
    oid = oidOf('tag', tag.content);
  }
  return { tags, top: oid };
}

describe('a hostile pack', () => {
  it('whose delta unpacks to more than git may hold is refused with the reason and leaves nothing', async () => {
    const { send, stored, repository } = await target();
    const body = bomb(700);
    expect(body.length).toBeLessThan(2_000);
    const before = stored();
    const { status, text } = await send(body);
    expect(status).toBe(200);
    expect(text).toContain('The push was refused: git needed more than 256 MiB of memory for this');
    expect(text).toContain('ng refs/heads/evil');
    expect(stored()).toEqual(before);
    expect((await repository.branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
  });

  it('of a long chain of tags is followed once, however many refs stand on it', async () => {
    const { send } = await target();
    const { tags, top } = chainOf(100);
    const refs = Array.from({ length: 100 }, (_, at) => `refs/tags/t${at}`);
    let requested = 0;
    const count = () => void requested++;
    tally.gitRequest.subscribe(count);
    const { text } = await send(pack([commit, emptyTreeEntry, ...tags]), top, refs);
    tally.gitRequest.unsubscribe(count);
    expect(text).toContain('ok refs/tags/t99');
    expect(requested).toBeLessThan(500);
  });

  it('is refused the same way when a real git client sends it', async () => {
    const { http, stored } = await target({ memory: 128 * mebibyte });
    const before = stored();
    const work = temporaryDirectory();
    git(work, ['init', '-q', '.']);
    writeFileSync(join(work, 'pack'), bomb(165));
    git(work, ['index-pack', '--stdin'], bomb(165));
    git(work, ['update-ref', 'refs/heads/evil', head]);
    // The object hangs on a tree of its own, so that the client packs it.
    const large = git(work, ['cat-file', '--batch-check', '--batch-all-objects'])
      .split('\n')
      .find((line) => line.endsWith(` ${165 * mebibyte}`))
      ?.split(' ')[0];
    const tree = git(work, ['mktree'], `100644 blob ${large}\tbig\n`);
    const evil = git(work, ['commit-tree', tree, '-m', 'Evil']);
    const pushing = client(work, '-c', 'core.bigFileThreshold=1g', 'push', http.url('site'), `${evil}:refs/heads/evil`);
    await expect(pushing).rejects.toThrow(/remote: .*(memory|larger than 100 MiB)/);
    expect(stored()).toEqual(before);
  });

  it('that takes more processor time than a push may is refused with the reason and leaves nothing', async () => {
    const { send, stored } = await target({ pushCpu: 1 });
    const before = stored();
    // Each of them is within the limits; 9 GiB in all.
    const many = Array.from({ length: 100 }, (_, at) => ({
      base: at + 1,
      delta: Buffer.concat([repeat(15 * mebibyte, 15 * mebibyte, 6)]),
    }));
    const { status, text } = await send(
      pack([commit, emptyTreeEntry, zeros, { base: 1, delta: repeat(mebibyte, mebibyte, 15) }, ...many]),
    );
    expect(status).toBe(200);
    expect(text).toContain('The push was refused: git needed more than 1 s of processor time for this');
    expect(stored()).toEqual(before);
  });

  it('whose push is ended while it is unpacked leaves nothing', async () => {
    const { http, stored } = await target();
    const before = stored();
    const many = Array.from({ length: 100 }, (_, at) => ({
      base: at + 1,
      delta: repeat(15 * mebibyte, 15 * mebibyte, 6),
    }));
    const body = pack([commit, emptyTreeEntry, zeros, { base: 1, delta: repeat(mebibyte, mebibyte, 15) }, ...many]);
    const gone = new AbortController();
    const sent = fetch(`${http.url('site')}/git-receive-pack`, {
      method: 'POST',
      body: new Uint8Array(pushOf(head, ['refs/heads/evil'], body)),
      signal: gone.signal,
    }).catch(() => null);
    // Its reader has begun: before, what it leaves is known by nothing, and maintenance removes it.
    const isUnpacked = () => stored().some((name) => /tmp_objdir-.*\/tmp_pack_/.test(name));
    await expect.poll(isUnpacked, { interval: 5 }).toBe(true);
    gone.abort();
    await sent;
    await expect.poll(stored).toEqual(before);
  });

  it('of one large blob of zeros is refused by the size of a file, without being held in memory', async () => {
    const { send, stored } = await target({ memory: 96 * mebibyte });
    const before = stored();
    const blob = { type: 'blob', content: Buffer.alloc(160 * mebibyte) } as const;
    const tree = treeOf({ 'zeros.bin': oidOf('blob', blob.content) });
    const made = commitOf(oidOf('tree', tree.content));
    const { text } = await send(pack([made, tree, blob]), oidOf('commit', made.content));
    expect(text).toContain('zeros.bin is larger than 100 MiB');
    expect(stored()).toEqual(before);
  });

  it.each([
    ['that says it has four billion objects', pack([commit, emptyTreeEntry], { count: 0xfffffff0 })],
    ['that is cut off', pack([commit, emptyTreeEntry, zeros]).subarray(0, 200)],
    ['that is no pack', Buffer.from('PACKnonsense'.repeat(20))],
    ['with a wrong checksum', Buffer.concat([pack([commit, emptyTreeEntry]).subarray(0, -20), Buffer.alloc(20)])],
  ])('%s is refused and leaves nothing', async (_, body) => {
    const { send, stored } = await target();
    const before = stored();
    const { status, text } = await send(body);
    expect(status).toBe(200);
    expect(text).not.toContain('unpack ok');
    expect(text).toContain('ng refs/heads/evil');
    expect(stored()).toEqual(before);
  });

  it('with a chain of 3,000 deltas comes in and can be read, since it needs little', async () => {
    const { send, repository, gitDir } = await target();
    const base = Buffer.from('line\n');
    let content = base;
    const chain = Array.from({ length: 3_000 }, (_, at) => {
      const delta = append(content.length, Buffer.from([97 + (at % 26)]));
      content = Buffer.concat([content, Buffer.from([97 + (at % 26)])]);
      return { base: 1, delta };
    });
    const tree = treeOf({ 'deep.md': oidOf('blob', content) });
    const made = commitOf(oidOf('tree', tree.content));
    const oid = oidOf('commit', made.content);
    const { text } = await send(pack([made, tree, { type: 'blob', content: base }, ...chain]), oid);
    expect(text).toContain('ok refs/heads/evil');
    const snapshot = await repository.snapshot(oid);
    expect((await snapshot.blob(oidOf('blob', content))).equals(content)).toBe(true);
    fsck(gitDir);
  });

  it('of thirty clients at once is answered to each, by the reason or by asking it to wait, and leaves nothing', async () => {
    const { send, stored, repository } = await target();
    const before = stored();
    const answers = await Promise.all(Array.from({ length: 30 }, () => send(bomb(400))));
    for (const { status, text } of answers) {
      if (status === 200) expect(text).toContain('git needed more than 256 MiB of memory');
      else expect(status).toBe(429);
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(answers.some(({ status }) => status === 429)).toBe(true);
    expect(stored()).toEqual(before);
    expect(await repository.branches()).toHaveLength(1);
  });
});

describe('an upstream', () => {
  const base = { type: 'blob', content: Buffer.alloc(15 * mebibyte) } as const;

  /** A repository with a commit of files of so many times 15 MiB, which it keeps and sends as deltas. */
  async function hostile(...times: number[]) {
    const there = testStore();
    await there.store.create('site', 'main');
    const path = there.path('site');
    // One byte less for each, so that no two are the same.
    const deltas = times.map((many, at) => ({
      base: at + 1,
      delta: repeat(15 * mebibyte, 15 * mebibyte - at, many),
      oid: oidOf('blob', Buffer.alloc((15 * mebibyte - at) * many)),
    }));
    const files = Object.fromEntries(deltas.map(({ oid }, at) => [`f${10 + at}`, oid]));
    const tree = treeOf({ base: oidOf('blob', base.content), ...files });
    const made = commitOf(oidOf('tree', tree.content));
    git(path, ['index-pack', '--stdin'], pack([made, tree, base, ...deltas]));
    git(path, ['update-ref', 'refs/heads/main', oidOf('commit', made.content)]);
    const { url } = await gitOverHttp(there.store);
    return { path, url: url('site') };
  }

  const bounded = (options: Parameters<typeof testStore>[0]) =>
    testStore({ allowHttp: true, resolveUpstream: async () => ({ addresses: ['127.0.0.1'] }), ...options });

  it.each([
    ['memory', [8], { memory: 96 * mebibyte }, 'too_large', 'git needed more than 96 MiB of memory for this'],
    [
      'processor time',
      Array.from({ length: 6 }, () => 6),
      { fetchCpu: 1 },
      'git_timeout',
      'git needed more than 1 s of processor time for this and was stopped',
    ],
  ])(
    'that needs more %s than git may take is neither imported nor fetched, and the reason is given',
    async (_, times, options, code, message) => {
      const { path, url } = await hostile(...times);
      const { store } = bounded(options);
      const refused = { code, message };
      await expect(store.importFrom('site', { url: path, kind: 'path' })).rejects.toMatchObject(refused);
      expect(await store.open('site').branches()).toEqual([]);
      const mirror = await store.create('mirror', 'main');
      const fetching = store.fetchUpstream('mirror', { url, auth: { kind: 'none' } });
      await expect(fetching).rejects.toMatchObject(refused);
      expect(await mirror.upstreamHead('main')).toBeNull();
    },
  );
});

describe('an object that is stored already and unpacks to much', () => {
  it('is refused to its reader by name of the bound, and others are read on', async () => {
    const { repository, gitDir, store } = await target({ memory: 64 * mebibyte });
    git(gitDir, ['index-pack', '--stdin'], bomb(90));
    const listing = git(gitDir, ['cat-file', '--batch-check', '--batch-all-objects']).split('\n');
    const large = listing.find((line) => line.endsWith(` ${90 * mebibyte}`))?.split(' ')[0] ?? '';
    const snapshot = await repository.snapshot(await repository.head('main'));
    await expect(snapshot.blob(large)).rejects.toMatchObject({ code: 'too_large' });
    expect((await store.open('site').snapshot(await repository.head('main'))).commit).not.toBeNull();
    expect(await repository.sizes([large])).toEqual([90 * mebibyte]);
  });
});

describe('a large push that is no attack', () => {
  it('of 100 MiB, and of a small change to it, passes with the least memory git is ever given', async () => {
    const { repository, send } = await target({ memory: 512 * mebibyte });
    const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
    const size = 100 * mebibyte - 1;
    const film = noise.update(Buffer.alloc(size));
    const last = Buffer.from([7]);
    const tree = treeOf({ 'film.mp4': oidOf('blob', film), 'film2.mp4': oidOf('blob', Buffer.concat([film, last])) });
    const made = commitOf(oidOf('tree', tree.content));
    const change = { base: 1, delta: append(size, last) };
    const oid = oidOf('commit', made.content);
    const body = pack([made, tree, { type: 'blob', content: film }, change], { level: 1 });
    const { text } = await send(body, oid, ['refs/heads/large']);
    expect(text).toContain('ok refs/heads/large');
    expect(await repository.head('large')).toBe(oid);
  });
});
