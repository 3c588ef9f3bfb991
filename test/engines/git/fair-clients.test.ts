import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { packetLine } from '../../../src/engines/git/transfer/push-answer.ts';
import type { PushVerdict } from '../../../src/ports/git-transfer.ts';
import { client } from '../../support/git-client.ts';
import { gitOverHttp, servePush } from '../../support/git-http.ts';
import { fsck, git, save, temporaryDirectory, testStore, writerOne } from '../../support/git-store.ts';

const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

describe('a client that keeps pushes busy', () => {
  it('leaves clones and pushes to others, and is refused alone when it has too many', async () => {
    const { store } = testStore();
    for (const id of ['site', 'other']) await save(await store.create(id, 'main'), { 'a.md': 'one' });
    let decide: (verdict: PushVerdict) => void = () => {};
    const verdict = new Promise<PushVerdict>((resolve) => (decide = resolve));
    let held = 0;
    const http = await gitOverHttp(store, {
      client: (request) => String(request.headers['x-client']),
      // Stands for objects that take long to unpack: the slot is held.
      authorizePush: (commands) => {
        if (!commands.some(({ ref }) => ref.startsWith('refs/heads/slow'))) return Promise.resolve({ allow: true });
        held += 1;
        return verdict;
      },
    });
    const as = (name: string) => ['-c', `http.extraHeader=x-client: ${name}`];
    const work = temporaryDirectory();
    await client(work, ...as('a'), 'clone', '-q', http.url('site'), 'busy');
    const push = (at: number) =>
      client(join(work, 'busy'), ...as('a'), 'push', '-q', 'origin', `HEAD:refs/heads/slow${at}`);
    const pushes = Array.from({ length: 9 }, (_, at) => push(at).then(() => null, String));
    expect(await Promise.race(pushes)).toMatch(/429/);
    await expect.poll(() => held).toBeGreaterThan(0);

    await client(work, ...as('b'), 'ls-remote', http.url('other'));
    await client(work, ...as('b'), 'clone', '-q', http.url('other'), 'copy');
    writeFileSync(join(work, 'copy/b.md'), 'two');
    await client(join(work, 'copy'), 'add', '.');
    await client(join(work, 'copy'), 'commit', '-qm', 'Add b');
    await client(join(work, 'copy'), ...as('b'), 'push', '-q', 'origin', 'main');
    expect(await store.open('other').head('main')).toBe(git(join(work, 'copy'), ['rev-parse', 'HEAD']));

    decide({ allow: true });
    expect((await Promise.all(pushes)).filter((refusal) => refusal !== null)).toHaveLength(1);
  });
});

describe('clients that do not read their clones', () => {
  it('lend their slots to others, and have all of their clones when they read on', async () => {
    const { store } = testStore();
    const repository = await store.create('site', 'main');
    await save(repository, { 'big.bin': randomBytes(400_000).toString('hex') });
    const head = await repository.head('main');
    const clone = (name: string) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      input.end(`${packet(`want ${head} no-progress\n`)}0000${packet('done\n')}`);
      const { signal } = new AbortController();
      const service = 'git-upload-pack';
      const served = store
        .serve('site', { client: name, service, advertise: false, protocol: null, input, output, signal })
        .finally(() => output.end());
      return { output, served };
    };
    const slow = Array.from({ length: 16 }, (_, at) => clone(at % 2 === 0 ? 'a' : 'b'));
    const quick = clone('c');
    const whole = await buffer(quick.output);
    await quick.served;
    expect(whole.length).toBeGreaterThan(400_000);
    const others = await Promise.all(slow.map(({ output }) => buffer(output)));
    await Promise.all(slow.map(({ served }) => served));
    expect(others.map(({ length }) => length)).toEqual(slow.map(() => whole.length));
  });
});

describe('clones that are not read', () => {
  const mebibyte = 1024 * 1024;

  it('are ended beyond the memory there is for them, those of the client that holds most', async () => {
    const { store, path } = testStore({ memory: 32 * mebibyte });
    /** Of an object that is in no pack git holds all bytes until they are read. */
    const create = async (id: string, bytes: number) => {
      const changes = [{ path: 'big.bin', content: randomBytes(bytes) }];
      const plan = async () => ({ changes, message: 'Add it', result: null });
      await (await store.create(id, 'main')).write({ branch: 'main', author: writerOne, plan });
      return git(path(id), ['rev-parse', 'main']);
    };
    const [large, site] = [await create('large', 12 * mebibyte), await create('site', 10 * mebibyte)];
    const clone = (name: string, id: string, head: string) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      input.end(`${packet(`want ${head} no-progress\n`)}0000${packet('done\n')}`);
      const { signal } = new AbortController();
      const service = 'git-upload-pack';
      const request = { client: name, service, advertise: false, protocol: null, input, output, signal } as const;
      return { output, served: store.serve(id, request).finally(() => output.end()) };
    };
    const slow = clone('b', 'large', large);
    const unread = Array.from({ length: 7 }, () => clone('a', 'site', site));
    // None of their outputs is read or closed here.
    await expect(Promise.race([slow, ...unread].map(({ served }) => served))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Fetches that are not read hold more memory than there is for them; try again shortly',
    });
    const whole = await buffer(slow.output);
    await slow.served;
    const copy = temporaryDirectory();
    git(copy, ['init', '-q', '--bare']);
    git(copy, ['index-pack', '--stdin', '--strict'], whole.subarray(packet('NAK\n').length));
    git(copy, ['update-ref', 'refs/heads/main', large]);
    fsck(copy);
    for (const { output } of unread) output.destroy();
    await Promise.allSettled(unread.map(({ served }) => served));
  });
});

describe('clients that do not read what became of their pushes', () => {
  it('hold neither slots nor branches', { timeout: 120_000 }, async () => {
    const { store } = testStore({ silence: 3_600_000 });
    const repository = await store.create('site', 'main');
    await save(repository, { 'a.md': 'one' });
    const head = (await repository.head('main')) ?? '';
    const zero = '0'.repeat(40);
    /** Deletions that git refuses: of the branch HEAD names, and of branches whose names no buffer on the way of the report takes whole. */
    const push = (name: string, branches: readonly string[]) => {
      const lines = branches.map((branch) => `${head} ${zero} refs/heads/${branch}`);
      const body = `${lines.map((line, at) => packetLine(at === 0 ? `${line}\0 report-status` : line)).join('')}0000`;
      return servePush(store, body, { client: name });
    };
    const long = Array.from({ length: 300 }, (_, at) => `${at}/${'x'.repeat(240)}/${'y'.repeat(240)}`);
    const each = Math.ceil(Math.max(2, Math.floor(availableParallelism() / 2)) / 2);
    const slow = Array.from({ length: 2 * each }, (_, at) => push(at % 2 === 0 ? 'a' : 'b', ['main', ...long]));
    try {
      for (const { output } of slow) await expect.poll(() => output.readableLength).toBeGreaterThan(0);
      await save(repository, { 'b.md': 'two' });
      const quick = push('c', ['absent']);
      expect(await text(quick.output)).toContain('unpack ok');
      await quick.served;
    } finally {
      for (const { output } of slow) output.destroy();
      await Promise.allSettled(slow.map(({ served }) => served));
    }
  });
});

describe('the body of a fetch', () => {
  const open = async (options: Parameters<typeof testStore>[0]) => {
    const { store } = testStore(options);
    await store.create('site', 'main');
    const [input, output] = [new PassThrough(), new PassThrough()];
    const { signal } = new AbortController();
    const request = { service: 'git-upload-pack', advertise: false, protocol: null, input, output, signal } as const;
    return { input, served: store.serve('site', { ...request, client: 'a' }) };
  };

  it('has a deadline which bytes that trickle in do not move', async () => {
    const { input, served } = await open({ silence: 10_000, fetchBodyTime: 300 });
    const trickle = setInterval(() => input.write('0'), 20);
    await expect(served.finally(() => clearInterval(trickle))).rejects.toMatchObject({
      code: 'request_timeout',
      message: 'The request took too long to arrive',
    });
  });

  it('is refused above 32 MiB', async () => {
    const { input, served } = await open({});
    input.end(Buffer.alloc(32 * 1024 * 1024 + 1));
    await expect(served).rejects.toMatchObject({ code: 'too_large', message: 'The request is larger than 32 MiB' });
  });
});
