import { describe, expect, it } from 'vitest';
import { createCrawlFetcher } from '../../../src/engines/crawler/fetcher.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { client, serve } from '../http/support.ts';
import { fetching, head, raw } from './support.ts';

describe('statuses', () => {
  it.each([200, 204, 206, 301, 401, 403, 404, 410, 418, 429, 500, 503])('hands out %i as it is', async (status) => {
    const port = await serve((_, response) => response.writeHead(status, { 'x-a': 'b' }).end());
    const { answer } = await fetching();
    expect(await answer(port)).toMatchObject({ status, headers: { 'x-a': 'b' } });
  });

  it('passes over 103', async () => {
    const port = await raw((socket) => {
      socket.write(head('103 Early Hints', 'Link: </a.css>; rel=preload'));
      socket.end(`${head('200 OK', 'Content-Length: 2')}ok`);
    });
    const { answer } = await fetching();
    const got = await answer(port);
    expect([got.status, got.headers.link, got.body?.size]).toEqual([200, undefined, 2]);
  });

  it('does not pass over them without end', async () => {
    const port = await raw((socket) => {
      const early = head('103 Early Hints').repeat(1_000);
      const flood = () => {
        while (!socket.destroyed && socket.write(early));
      };
      socket.on('drain', flood);
      flood();
    });
    const { fault } = await fetching();
    expect(await fault(port)).toMatchObject({
      error: 'decode',
      message: expect.stringContaining('more than 20 answers that are only informational'),
    });
  });

  it('does not switch protocols', async () => {
    const port = await raw((socket) =>
      socket.write(head('101 Switching Protocols', 'Upgrade: h2c', 'Connection: Upgrade')),
    );
    const { fault } = await fetching();
    expect((await fault(port, { limits: { headers: 500 } })).ok).toBe(false);
  });

  it('notifies of an answer before its body is stored', async () => {
    const port = await serve((_, response) => response.end('body'));
    const { blobs } = await fetching();
    const events: string[] = [];
    const slow = {
      ...blobs,
      async put(content: Parameters<typeof blobs.put>[0]) {
        events.push('stored');
        return blobs.put(content);
      },
    };
    const fetcher = createCrawlFetcher({ http: client(), blobs: slow });
    const request = { url: `http://127.0.0.1:${port}/`, headers: {}, policy: { pool: 'test' }, read: 'page' } as const;
    await fetcher.fetch({ ...request, keep: () => true, received: async () => void events.push('received') });
    expect(events).toEqual(['received', 'stored']);
  });

  it('stores what is to be kept, by status and headers', async () => {
    const port = await serve((request, response) => response.writeHead(Number(request.url?.slice(1))).end('body'));
    const { answer } = await fetching();
    const keep = (status: number) => status === 404;
    expect((await answer(port, { path: '/404', keep })).body?.size).toBe(4);
    expect((await answer(port, { path: '/200', keep })).body).toBeNull();
  });
});

describe('conditions', () => {
  it('sends validators as they were given, weak ones and dates of the future too', async () => {
    const port = await serve((request, response) => {
      const { 'if-none-match': etag, 'if-modified-since': since } = request.headers;
      response.writeHead(304, { etag: '"new"', 'x-got': `${etag} ${since}` }).end();
    });
    const { answer } = await fetching();
    const last_modified = 'Fri, 01 Jan 2100 00:00:00 GMT';
    const got = await answer(port, { validators: { etag: 'W/"a"', last_modified } });
    expect(got).toMatchObject({ status: 304, body: null, bytes: null, bytesWire: 0 });
    expect([got.headers['x-got'], got.headers.etag]).toEqual([`W/"a" ${last_modified}`, '"new"']);
    const dated = await answer(port, { validators: { last_modified } });
    expect(dated.headers['x-got']).toBe(`undefined ${last_modified}`);
  });

  it('cannot use a 304 it did not ask for', async () => {
    const port = await serve((_, response) => response.writeHead(304).end());
    const { fault } = await fetching();
    expect(await fault(port)).toMatchObject({ error: 'decode', isRetryable: false });
    expect(await fault(port, { validators: {} })).toMatchObject({ error: 'decode' });
  });
});

describe('headers', () => {
  it('reads Location as UTF-8 when it is, as Latin-1 when not, and none when empty', async () => {
    const port = await raw((socket, request) => {
      const value = { '/utf8': 'c3a4', '/latin1': 'e4', '/empty': '20' }[request.split(' ')[1] ?? ''] ?? '';
      socket.write('HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ');
      socket.write(Buffer.from(value, 'hex'));
      socket.end('\r\n\r\n');
    });
    const { answer } = await fetching();
    expect((await answer(port, { path: '/utf8' })).location).toBe('ä');
    expect((await answer(port, { path: '/latin1' })).location).toBe('ä');
    expect((await answer(port, { path: '/empty' })).location).toBeNull();
    expect((await answer(await serve((_, response) => response.end()))).location).toBeNull();
  });

  it('hands out every Set-Cookie and sends what it is given', async () => {
    const port = await serve((request, response) => {
      response.setHeader('Set-Cookie', ['a=1', 'b=2']);
      response.end(`${request.headers.cookie} ${request.headers['user-agent']} ${request.headers.host}`);
    });
    const { answer, stored } = await fetching();
    const got = await answer(port, { headers: { cookie: 'c=3', 'user-agent': 'Crawler' } });
    expect(got.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect((await stored(got.body?.sha256)).toString()).toBe(`c=3 Crawler 127.0.0.1:${port}`);
  });

  it('does not send a header that would break the request', async () => {
    let requested = 0;
    const port = await serve((_, response) => response.end(String(++requested)));
    const { fault } = await fetching();
    const headers = { 'x-a': 'b\r\nevil: 1' };
    expect(await fault(port, { headers })).toMatchObject({ error: 'internal', isRetryable: false });
    expect(requested).toBe(0);
  });
});

describe('types', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
  const cases = [
    ['HTML', 'text/html', '<p>x', 'page', true, false],
    ['XHTML', 'application/xhtml+xml; charset=x', '<p/>', 'page', true, false],
    ['CSS', 'text/css', 'a{}', 'asset', true, false],
    ['a manifest', 'application/manifest+json', '{}', 'asset', true, false],
    ['plain text that looks like HTML', 'text/plain', '<!doctype html>', 'page', false, false],
    ['a script', 'text/javascript', '<p>', 'asset', false, false],
    ['an image called HTML', 'text/html', png, 'page', false, false],
    ['HTML without a type', null, ' \n<!DOCTYPE HTML><p>', 'page', true, true],
    ['HTML without a type that is an asset', null, '<html>', 'asset', true, false],
    ['anything when all is asked for', 'application/gzip', 'x', 'all', true, false],
    ['nothing when none is asked for', 'text/html', '<p>', 'none', false, false],
  ] as const;

  it.each(cases)('reads %s or not', async (_, type, body, read, isRead, isSniffed) => {
    const port = await serve((_request, response) =>
      response.writeHead(200, type ? { 'content-type': type } : {}).end(body),
    );
    const { answer } = await fetching();
    const got = await answer(port, { read });
    expect([got.bytes !== null, got.isSniffed, got.body?.size]).toEqual([isRead, isSniffed, body.length]);
    expect(got.contentType).toBe(isSniffed ? 'text/html' : type);
  });
});

describe('storing', () => {
  it('is not a fault of the peer when the disk is full', async () => {
    const { blobs } = await fetching();
    const full = new DomainError('unavailable', 'The disk is full: nothing was stored');
    const put = async () => {
      throw full;
    };
    const fetcher = createCrawlFetcher({ http: client(), blobs: { ...blobs, put } });
    const port = await serve((_, response) => response.end('x'));
    const request = {
      url: `http://127.0.0.1:${port}/`,
      headers: {},
      policy: {},
      read: 'page',
      keep: () => true,
    } as const;
    await expect(fetcher.fetch(request)).rejects.toBe(full);
  });
});
