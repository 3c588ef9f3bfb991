import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { testStore } from '../../support/git-store.ts';

const mebibyte = 1024 * 1024;
const oid = '1'.repeat(40);
const packet = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
const advertisement = `${packet('# service=git-upload-pack\n')}0000${packet(`${oid} refs/heads/main\0agent=git/2.0\n`)}0000`;

const advertise = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });

/**
 * Writes pieces until they are taken no more; then the answer ends, or goes on without any.
 * @returns how many bytes so far; bounded by itself if the client is not
 */
function pour(response: ServerResponse, piece: () => Buffer, most: number, end = true) {
  const sent = { bytes: 0 };
  const more = () => {
    while (!response.destroyed && sent.bytes < most) {
      const bytes = piece();
      sent.bytes += bytes.length;
      if (!response.write(bytes)) return void response.once('drain', more);
    }
    if (end) response.end();
  };
  more();
  return sent;
}

/** The beginning of a pack of one blob of a tebibyte, and of the zlib stream that holds it (RFC 1950). */
const beginning = () => {
  const size = [0xb0];
  for (let rest = 2 ** 36; rest > 0; rest = Math.floor(rest / 128)) size.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
  return Buffer.concat([
    Buffer.from('0008NAK\nPACK\0\0\0\x02\0\0\0\x01', 'latin1'),
    Buffer.from([...size, 0x78, 0x01]),
  ]);
};
const noise = randomBytes(65_535);
/** A block of a deflate stream that is stored as it is, and not the last (RFC 1951 3.2.4). */
const stored = Buffer.concat([Buffer.from([0, 0xff, 0xff, 0, 0]), noise]);

/** A git host that answers as a test sets, and a store that fetches from it. */
async function hostileHost(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: Parameters<typeof testStore>[0] = {},
) {
  const requests: { path: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', authorization: request.headers.authorization });
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const here = testStore({ allowHttp: true, resolveUpstream: async () => ({ addresses: ['127.0.0.1'] }), ...options });
  const url = `http://127.0.0.1:${port}/site.git`;
  const packs = (id: string) => readdirSync(join(here.path(id), 'objects', 'pack'));
  return { ...here, url, port, requests, packs };
}

const isList = ({ method }: IncomingMessage) => method === 'GET';

describe('a git host that sends a pack without end', () => {
  it('is cut off at the limit of one fetch, with the reason, and nothing of the pack is kept', async () => {
    let sent = { bytes: 0 };
    const { store, url, packs } = await hostileHost(
      (request, response) => {
        if (isList(request)) return void advertise(response).end(advertisement);
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
        response.write(beginning());
        sent = pour(response, () => stored, 512 * mebibyte);
      },
      { fetchBytes: 8 * mebibyte },
    );
    const refused = { code: 'too_large', message: 'The other host sent more than 8 MiB at once' };
    await store.create('mirror', 'main');
    const fetching = store.fetchUpstream('mirror', { url, auth: { kind: 'none' } });
    await expect(fetching).rejects.toMatchObject(refused);
    expect(packs('mirror')).toEqual([]);
    expect(sent.bytes).toBeLessThan(64 * mebibyte);
    await expect(store.importFrom('site', { url, kind: 'https' })).rejects.toMatchObject(refused);
    expect(packs('site')).toEqual([]);
    expect(await store.open('site').branches()).toEqual([]);
  });
});

describe('a git host that is files alone, one of them without end', () => {
  it('is cut off at the limit of one fetch, with the reason, and nothing of the file is kept', async () => {
    const { store, url, path } = await hostileHost(
      ({ url: file = '' }, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        if (file.includes('/info/refs')) return void response.end(`${oid}\trefs/heads/main\n`);
        if (file.endsWith('/HEAD')) return void response.end('ref: refs/heads/main\n');
        response.write(Buffer.from([0x78, 0x01]));
        pour(response, () => stored, 512 * mebibyte);
      },
      { fetchBytes: 8 * mebibyte },
    );
    await store.create('mirror', 'main');
    await expect(store.fetchUpstream('mirror', { url, auth: { kind: 'none' } })).rejects.toMatchObject({
      code: 'too_large',
      message: 'The other host sent more than 8 MiB at once',
    });
    const kept = readdirSync(join(path('mirror'), 'objects'), { recursive: true, withFileTypes: true });
    expect(kept.filter((found) => found.isFile()).map(({ name }) => name)).toEqual([]);
  });
});

describe('a git host that lists branches without end', () => {
  it('is cut off at the limit of a list, or of memory', async () => {
    let made = 0;
    let sent = { bytes: 0 };
    const line = () => Buffer.from(packet(`${oid} refs/heads/b${(made++).toString().padStart(900, '0')}\n`));
    const { store, url } = await hostileHost(
      (request, response) => {
        if (!isList(request)) return void response.end();
        advertise(response).write(advertisement.slice(0, -4));
        sent = pour(response, line, 512 * mebibyte);
      },
      { memory: 64 * mebibyte },
    );
    await store.create('mirror', 'main');
    const upstream = { url, auth: { kind: 'none' } } as const;
    for (const attempt of [() => store.fetchUpstream('mirror', upstream), () => store.lsRemote(upstream)]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'too_large' });
      expect(sent.bytes).toBeLessThan(256 * mebibyte);
    }
  });
});

describe('git hosts that keep what lists of branches hold in memory', () => {
  it('are not given more of it together than there is for all, and the others go on', async () => {
    const held: ServerResponse[] = [];
    const { store, port } = await hostileHost(
      (request, response) => {
        if (!isList(request)) return void response.end();
        held.push(response);
        advertise(response).write(advertisement.slice(0, -4));
        pour(response, () => Buffer.from(packet(`${oid} refs/heads/${'b'.repeat(60_000)}\n`)), 24 * mebibyte, false);
      },
      { memory: 64 * mebibyte },
    );
    const over = new AbortController();
    const lists = Array.from({ length: 8 }, () =>
      store.lsRemote({ url: `http://held.test:${port}/site.git`, auth: { kind: 'none' } }, over.signal),
    );
    await expect(Promise.race(lists)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Other hosts sent more at once than there is memory for; try again shortly',
    });
    expect(held.some((response) => !response.destroyed)).toBe(true);
    over.abort(new Error('over'));
    await Promise.allSettled(lists);
  });
});

describe('a git host that redirects', () => {
  it.each([301, 302, 307, 308])('with %i is not followed, and no other host gets the credentials', async (status) => {
    const other = await hostileHost((_request, response) => void advertise(response).end(advertisement));
    const { store, url, requests } = await hostileHost((request, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${other.port}${request.url}` }).end();
    });
    const upstream = { url, auth: { kind: 'token', token: 'secret' } } as const;
    await store.create('mirror', 'main');
    for (const attempt of [
      () => store.fetchUpstream('mirror', upstream),
      () => store.lsRemote(upstream),
      () => store.importFrom('site', { url, kind: 'https', auth: upstream.auth }),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'upstream_unavailable' });
    expect(requests.every(({ authorization }) => authorization?.startsWith('Basic '))).toBe(true);
    expect(other.requests).toEqual([]);
  });
});

describe('a git host that does not answer', () => {
  it('keeps sixteen commands waiting at most, and those for other hosts go on', async () => {
    const { store, port, requests } = await hostileHost(() => {});
    const over = new AbortController();
    const waiting = Array.from({ length: 20 }, () =>
      store.lsRemote({ url: `http://silent.test:${port}/site.git`, auth: { kind: 'none' } }, over.signal),
    );
    const ended = Promise.allSettled(waiting);
    await vi.waitFor(() => expect(requests).toHaveLength(16), { timeout: 60_000 });
    const other = await hostileHost((_request, response) => void advertise(response).end(advertisement));
    const url = `http://other.test:${other.port}/site.git`;
    expect((await store.lsRemote({ url, auth: { kind: 'none' } })).branches).toEqual([
      { name: 'refs/heads/main', oid },
    ]);
    expect(requests).toHaveLength(16);
    over.abort(new Error('over'));
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
  });
});
