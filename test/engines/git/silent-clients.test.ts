import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
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
