import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { serve } from '../http/support.ts';
import { fetching, head, raw } from './support.ts';

const html = 'text/html; charset=utf-8';
const page = Buffer.from(`<!doctype html><title>Page</title>${'<p>Some words of a page.</p>'.repeat(200)}`);
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const mebibyte = 1024 * 1024;

/** Nothing is left of a put that did not come about. */
async function nothingStored(root: string): Promise<void> {
  const names = await readdir(root, { recursive: true, withFileTypes: true });
  expect(names.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))).toEqual([]);
}

/** The best quality takes seconds. */
const brotli = (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

const codings = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['br', brotli],
  ['zstd', zstdCompressSync],
  ['deflate', deflateSync],
] as const;

describe('codings', () => {
  it('asks for what it undoes', async () => {
    const port = await serve((request, response) => response.end(request.headers['accept-encoding']));
    const { answer, stored } = await fetching();
    expect((await stored((await answer(port)).body?.sha256)).toString()).toBe('gzip, br, zstd, deflate');
  });

  it.each(codings)('stores and hands out what %s holds', async (coding, pack) => {
    const large = Buffer.concat([page, randomBytes(mebibyte)]);
    const port = await serve((request, response) => {
      response.writeHead(200, { 'content-type': html, 'content-encoding': coding });
      response.end(pack(request.url === '/large' ? large : page));
    });
    const { answer, stored } = await fetching();
    for (const [at, whole] of [
      ['/small', page],
      ['/large', large],
    ] as const) {
      const got = await answer(port, { path: at });
      expect(got.body).toEqual({ sha256: hashOf(whole), size: whole.length });
      expect(hashOf(await stored(got.body?.sha256))).toBe(hashOf(whole));
      expect(got.bytes?.length).toBe(whole.length);
      expect(got.bytesWire).toBe(pack(whole).length);
    }
  });

  it('undoes bare deflate, several codings, and identity', async () => {
    const port = await serve((request, response) => {
      const [coding, body] = {
        '/bare': ['deflate', deflateRawSync(page)],
        '/twice': ['gzip, br', brotliCompressSync(gzipSync(page))],
        '/none': ['identity', page],
      }[request.url ?? ''] as [string, Buffer];
      response.writeHead(200, { 'content-encoding': coding }).end(body);
    });
    const { answer } = await fetching();
    for (const at of ['/bare', '/twice', '/none'])
      expect((await answer(port, { path: at })).body?.sha256).toBe(hashOf(page));
  });

  it('takes an empty body for empty, whatever its coding', async () => {
    const port = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end());
    const { answer } = await fetching();
    expect((await answer(port)).body).toEqual({ sha256: hashOf(new Uint8Array()), size: 0 });
  });

  it.each(['gzip', 'br', 'zstd', 'deflate'])('calls a plain body labelled %s a lie', async (coding) => {
    const port = await serve((_, response) => response.writeHead(200, { 'content-encoding': coding }).end(page));
    const { fault, root } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'decode', isRetryable: false, retries: 0 });
    await nothingStored(root);
  });

  it.each(['compress', 'gzip, gzip, gzip', 'aes128gcm', '__proto__'])('does not guess at %s', async (coding) => {
    const port = await serve((_, response) => response.writeHead(200, { 'content-encoding': coding }).end(page));
    const { fault } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'decode', isRetryable: false });
  });

  it.each(codings)('calls a cut %s body truncated, small or large', async (coding, pack) => {
    const port = await serve((request, response) => {
      const whole = pack(request.url === '/large' ? randomBytes(mebibyte) : page);
      response.writeHead(200, { 'content-encoding': coding }).end(whole.subarray(0, whole.length - 9));
    });
    const { fault, root } = await fetching();
    for (const at of ['/small', '/large'])
      expect(await fault(port, { path: at })).toMatchObject({ error: 'body_truncated', isRetryable: true, retries: 3 });
    await nothingStored(root);
  });

  it('calls a damaged gzip body truncated', async () => {
    const packed = gzipSync(page);
    packed.writeUInt8(packed.readUInt8(packed.length - 6) ^ 1, packed.length - 6);
    const port = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed));
    const { fault } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'body_truncated', isRetryable: true });
  });
});

describe('sizes', () => {
  it('takes a decoded body of exactly the cap and refuses one byte more', async () => {
    const most = mebibyte;
    const limits = { body: most };
    const port = await serve((request, response) => {
      const [, coding, size] = request.url?.split('/') ?? [];
      const body = randomBytes(Number(size));
      if (coding === 'gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body));
      else if (coding === 'length') response.writeHead(200, { 'content-length': body.length }).end(body);
      else {
        response.write(body);
        response.end();
      }
    });
    const { answer, fault, root } = await fetching();
    for (const coding of ['gzip', 'length', 'chunked']) {
      expect(await fault(port, { limits, path: `/${coding}/${most + 1}` })).toMatchObject({
        error: 'body_too_large',
        isRetryable: false,
      });
      await nothingStored(root);
    }
    for (const coding of ['gzip', 'length', 'chunked'])
      expect((await answer(port, { limits, path: `/${coding}/${most}` })).body?.size).toBe(most);
  });

  it('holds a small body to the cap as well', async () => {
    const port = await serve((_, response) => response.end('x'.repeat(101)));
    const { answer, fault } = await fetching();
    expect(await fault(port, { limits: { body: 100 } })).toMatchObject({ error: 'body_too_large' });
    expect((await answer(port, { limits: { body: 101 } })).body?.size).toBe(101);
  });

  it('does not begin 5 GB that say so', async () => {
    let sent = 0;
    const port = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 5_000_000_000, 'content-type': html });
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65536))) sent += 65536;
      };
      response.on('drain', more);
      more();
    });
    const { fault } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'body_too_large' });
    expect(sent).toBeLessThan(50 * mebibyte);
  });

  it('ends a body without end at the cap', async () => {
    const port = await serve((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(randomBytes(65536)));
      };
      response.on('drain', more);
      more();
    });
    const { fault, root } = await fetching();
    expect(await fault(port, { limits: { body: 5 * mebibyte } })).toMatchObject({ error: 'body_too_large' });
    await nothingStored(root);
  });

  it('allows a hundred times of what was sent and ten mebibytes, and no bomb', async () => {
    const packed = (size: number) => gzipSync(Buffer.alloc(size), { level: 9 });
    const over = packed(30 * mebibyte);
    const within = 10 * mebibyte;
    const port = await serve((request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(request.url === '/within' ? packed(within) : over),
    );
    const { answer, fault, root } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'body_too_large' });
    await nothingStored(root);
    expect((await answer(port, { path: '/within' })).body?.size).toBe(within);
  });

  it('hands out the beginning of a long page and stores all of it', async () => {
    const body = Buffer.concat([page, Buffer.alloc(2 * mebibyte, 'x')]);
    const port = await serve((_, response) => response.writeHead(200, { 'content-type': html }).end(body));
    const { answer } = await fetching();
    const got = await answer(port, { limits: { read: mebibyte } });
    expect([got.bytes?.length, got.isCut, got.body]).toEqual([
      mebibyte,
      true,
      { sha256: hashOf(body), size: body.length },
    ]);
    const exact = await answer(port, { limits: { read: body.length } });
    expect([exact.bytes?.length, exact.isCut]).toEqual([body.length, false]);
  });
});

describe('framing', () => {
  it('takes as many bytes as Content-Length says', async () => {
    const port = await raw((socket) => socket.end(`${head('200 OK', 'Content-Length: 5')}hello, and more`));
    const { answer, stored } = await fetching();
    expect((await stored((await answer(port)).body?.sha256)).toString()).toBe('hello');
  });

  it.each([
    ['fewer bytes than Content-Length', `${head('200 OK', 'Content-Length: 50')}hello`],
    ['a chunk that ends early', `${head('200 OK', 'Transfer-Encoding: chunked')}10\r\nhello`],
    ['no last chunk', `${head('200 OK', 'Transfer-Encoding: chunked')}5\r\nhello\r\n`],
    ['a chunk without a size', `${head('200 OK', 'Transfer-Encoding: chunked')}5\r\nhello\r\nzz\r\n`],
  ])('calls %s truncated', async (_, answered) => {
    const port = await raw((socket) => socket.end(answered));
    const { fault, root } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'body_truncated', isRetryable: true });
    await nothingStored(root);
  });

  it('calls a large body that ends early truncated and keeps nothing of it', async () => {
    const port = await raw((socket) => {
      socket.write(head('200 OK', `Content-Length: ${3 * mebibyte}`));
      socket.end(randomBytes(mebibyte));
    });
    const { fault, root } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'body_truncated', bytesWire: mebibyte });
    await nothingStored(root);
  });

  it('reads a body that ends with its connection', async () => {
    const port = await raw((socket) => socket.end(`${head('200 OK', 'Content-Type: text/html')}<p>hello`));
    const { answer } = await fetching();
    expect((await answer(port)).body?.size).toBe(8);
  });

  it.each([
    ['two lengths', head('200 OK', 'Content-Length: 5', 'Content-Length: 6')],
    ['no HTTP', 'SSH-2.0-OpenSSH_9\r\n'],
    ['a bad status', head('2x0 OK')],
    ['a bare line', head('200 OK', 'no colon here')],
  ])('cannot read an answer with %s', async (_, answered) => {
    const port = await raw((socket) => socket.end(answered));
    const { fault } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'decode', isRetryable: false });
  });

  it('takes 64 KiB of headers and no more', async () => {
    const port = await raw((socket, request) => {
      const size = Number(/GET \/(\d+)/.exec(request)?.[1]);
      socket.end(`${head('200 OK', 'Content-Length: 2', `x: ${'y'.repeat(size)}`)}ok`);
    });
    const { answer, fault } = await fetching();
    expect((await answer(port, { path: `/${63 * 1024}` })).status).toBe(200);
    expect(await fault(port, { path: `/${65 * 1024}` })).toMatchObject({ error: 'body_too_large', isRetryable: false });
  });
});
