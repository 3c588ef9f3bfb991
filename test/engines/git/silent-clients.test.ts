import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { BodyRoom } from '../../../src/engines/git/transfer/request-body.ts';
import type { GitServeRequest } from '../../../src/ports/git-transfer.ts';
import { save, testStore } from '../../support/git-store.ts';

const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

/** A store that waits 300 ms for a client, with a repository whose clone no buffer on its way takes whole. */
async function impatient() {
  const { store } = testStore({ silence: 300 });
  const repository = await store.create('site', 'main');
  await save(repository, { 'big.bin': randomBytes(400_000).toString('hex') });
  const request = (input: PassThrough, output: PassThrough): GitServeRequest => ({
    client: 'client',
    service: 'git-upload-pack',
    advertise: false,
    protocol: null,
    input,
    output,
    signal: new AbortController().signal,
  });
  return { store, request, head: (await repository.head('main')) ?? '' };
}

describe('a client that falls silent', () => {
  it('loses its answer when it reads no further', async () => {
    const { store, request, head } = await impatient();
    const input = new PassThrough();
    const output = new PassThrough();
    input.end(`${packet(`want ${head} no-progress\n`)}0000${packet('done\n')}`);
    await expect(store.serve('site', request(input, output))).rejects.toMatchObject({ code: 'request_timeout' });
    expect(output.readableLength).toBeGreaterThan(0);
    expect(output.destroyed).toBe(true);
  });

  it('is reported when it never sent a request', async () => {
    const { store, request } = await impatient();
    const output = new PassThrough();
    const served = store.serve('site', request(new PassThrough(), output));
    await expect(served).rejects.toMatchObject({ code: 'request_timeout' });
    expect(output.destroyed).toBe(false);
  });
});

describe('pushes that send much and do not end', () => {
  const mebibyte = 1024 * 1024;

  it('are refused beyond the disk they may hold together, of which one client has half', async () => {
    const { store } = testStore({ bodyRoom: 64 * mebibyte });
    await store.create('site', 'main');
    const end = new AbortController();
    /** A push of so many MiB whose end does not come; what becomes of it. */
    const push = async (client: string, size: number) => {
      const input = new PassThrough();
      const served = store.serve('site', {
        client,
        service: 'git-receive-pack',
        advertise: false,
        protocol: null,
        input,
        output: new PassThrough(),
        signal: end.signal,
      });
      const ended = served.catch((error: { code?: string; message: string }) => error.code ?? error.message);
      for (let at = 0; at < size; at += 1) await new Promise((resolve) => input.write(Buffer.alloc(mebibyte), resolve));
      return { ended };
    };
    // Each goes well beyond the sizes at which room is taken: the last megabytes may still be on their way.
    const held = [await push('a', 30), await push('a', 30)];
    expect(await (await push('a', 30)).ended).toBe('unavailable');
    held.push(await push('b', 47));
    expect(await (await push('c', 30)).ended).toBe('unavailable');
    held.push(await push('c', 16));
    end.abort(new Error('over'));
    expect(await Promise.all(held.map(({ ended }) => ended))).toEqual(['over', 'over', 'over', 'over']);
  });

  it('leave 1 GiB of the disk, and give back what they held', async () => {
    let free = 1024 * mebibyte;
    const room = new BodyRoom(8, async () => free);
    await room.take('a', 4);
    await expect(room.take('a', 1)).rejects.toMatchObject({ code: 'unavailable' });
    room.giveBack('a', 4);
    free -= 1;
    await expect(room.take('a', 4)).rejects.toMatchObject({ code: 'storage_full' });
    free += 1;
    await room.take('a', 4);
  });
});
