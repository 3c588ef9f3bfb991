import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { client, failure, serve } from './support.ts';

const policy = {};

describe('request', () => {
  it('sends method, headers and body to the checked address under the name', async () => {
    const port = await serve((request, response) => {
      request.setEncoding('utf8');
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        response.setHeader('Set-Cookie', ['a=1', 'b=2']);
        response.statusCode = 201;
        response.end(JSON.stringify([request.method, request.url, request.headers.host, request.headers['x-a'], body]));
      });
    });
    const http = client({ resolve: async () => ['127.0.0.1'] });
    const url = `http://shop.test:${port}/p/ä?q=1#f`;
    const answer = await http.request(url, { method: 'POST', headers: { 'X-A': 'b' }, body: 'hello', policy });
    expect(answer.status).toBe(201);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(JSON.parse(await answer.text())).toEqual(['POST', '/p/%C3%A4?q=1', `shop.test:${port}`, 'b', 'hello']);
  });

  it('refuses before any connection', async () => {
    let requested = 0;
    const port = await serve((_, response) => response.end(String(++requested)));
    const error = await failure(client({ allowedCidrs: [] }).request(`http://127.0.0.1:${port}/`, { policy }));
    expect(error.code).toBe('invalid_request');
    expect(requested).toBe(0);
  });

  it('refuses headers that belong to the connection', async () => {
    for (const name of ['Host', 'Transfer-Encoding', 'content-length', 'Proxy-Authorization']) {
      const error = await failure(client().request('http://127.0.0.1/', { policy, headers: { [name]: 'x' } }));
      expect(error.details?.reason).toBe('invalid_headers');
    }
    const split = await failure(client().request('http://127.0.0.1/', { policy, headers: { a: 'b\r\nc: d' } }));
    expect(split.code).toBe('invalid_request');
    await failure(client().request('http://127.0.0.1/', { policy, method: 'CONNECT' }));
    await failure(client().request('http://127.0.0.1/', { policy, method: 'GE T' }));
  });
});

it.each([{}, { pool: 'shared' }])('close does not wait for servers that do not answer (%j)', async (of) => {
  const requested = vi.fn();
  const port = await serve(requested);
  const http = client({ resolve: async () => ['127.0.0.1'] });
  const leaving = new AbortController();
  const request = { policy: { ...policy, ...of }, signal: leaving.signal };
  const settled = vi.fn();
  const call = http.request(`http://silent.test:${port}/`, request).finally(settled);
  call.catch(() => {});
  await vi.waitFor(() => expect(requested).toHaveBeenCalled(), 30_000);
  await http.close();
  expect(settled).not.toHaveBeenCalled();
  leaving.abort();
  await expect(call).rejects.toThrow();
});

describe('rebinding', () => {
  it('connects to the checked answer and asks the resolver once per connection', async () => {
    const port = await serve((_, response) => response.end('inside'));
    const answers = [['93.184.215.14'], ['127.0.0.1']];
    const requested: string[] = [];
    const resolve = async (name: string) => {
      requested.push(name);
      return answers[requested.length - 1] ?? [];
    };
    const http = client({ allowedCidrs: ['93.184.215.14'], resolve });
    // The first answer is checked and dialled (nothing listens there); a second lookup would have reached the loopback server.
    const url = `http://rebind.test:${port}/`;
    const first = await failure(http.request(url, { policy, timeouts: { connect: 300 } }));
    expect(['timeout', 'connect']).toContain(first.details?.reason);
    expect(requested).toEqual(['rebind.test']);
    expect((await failure(http.request(url, { policy }))).details?.reason).toBe('blocked_address');
    expect(requested).toHaveLength(2);
  });

  it('checks every new connection of a pool', async () => {
    const port = await serve((_, response) => response.setHeader('Connection', 'close').end('x'));
    let bad = false;
    const resolve = async () => (bad ? ['10.0.0.1'] : ['127.0.0.1']);
    const http = client({ resolve });
    const url = `http://name.test:${port}/`;
    expect(await (await http.request(url, { policy: { pool: '1' } })).text()).toBe('x');
    bad = true;
    expect((await failure(http.request(url, { policy: { pool: '1' } }))).details?.reason).toBe('blocked_address');
  });
});

describe('pools', () => {
  it('shares a connection within a pool and policy, never across', async () => {
    const port = await serve((request, response) => response.end(String(request.socket.remotePort)));
    const http = client();
    const get = async (more: object) => (await http.request(`http://127.0.0.1:${port}/`, { policy: more })).text();
    const first = await get({ pool: '1' });
    // A connection is free again a moment after its answer was read.
    await vi.waitFor(async () => expect(await get({ pool: '1' })).toBe(first), { timeout: 60_000 });
    const others = [await get({ pool: '2' }), await get({ pool: '1', ports: [80] }), await get({}), await get({})];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  it('does not reuse a connection of a laxer policy', async () => {
    const port = await serve((_, response) => response.end('x'));
    const http = client({ allowedCidrs: [] });
    const url = `http://127.0.0.1:${port}/`;
    await (await http.request(url, { policy: { pool: '1', allowedCidrs: ['127.0.0.1'] } })).text();
    await failure(http.request(url, { policy: { pool: '1' } }));
  });
});

describe('redirects', () => {
  it('hands a redirect to the caller unless configured to follow', async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: '/next' }).end());
    const answer = await client().request(`http://127.0.0.1:${port}/`, { policy });
    expect([answer.status, answer.headers.location, answer.hops]).toEqual([302, '/next', []]);
    answer.discard();
  });

  it('follows relative ones, lists the hops and stops at the limit', async () => {
    const port = await serve((request, response) => {
      const step = Number(request.url?.slice(1));
      if (step === 3) response.end('done');
      else response.writeHead(307, { location: `${step + 1}` }).end();
    });
    const url = `http://127.0.0.1:${port}/`;
    const answer = await client().request(`${url}1`, { policy, maxRedirections: 2 });
    expect(answer.url).toBe(`${url}3`);
    expect(answer.hops).toEqual([1, 2].map((step) => ({ status: 307, url: `${url}${step}` })));
    expect(await answer.text()).toBe('done');
    const error = await failure(client().request(`${url}1`, { policy, maxRedirections: 1 }));
    expect(error.details?.reason).toBe('redirect_too_many');
  });

  it('checks each hop: a public site cannot send us inside', async () => {
    let reached = 0;
    const inner = await serve((_, response) => response.end(String(++reached)));
    const targets = [
      `http://10.0.0.1:${inner}/`,
      `http://inner.test:${inner}/`,
      'http://[::1]/',
      'http://169.254.169.254/latest/',
    ];
    const resolve = async (name: string) => (name === 'inner.test' ? ['192.168.0.9'] : ['127.0.0.1']);
    for (const location of targets) {
      const port = await serve((_, response) => response.writeHead(302, { location }).end());
      const http = client({ allowedCidrs: ['127.0.0.0/8'], resolve });
      const error = await failure(http.request(`http://front.test:${port}/`, { policy, maxRedirections: 5 }));
      expect(error.details?.reason).toBe('blocked_address');
    }
    expect(reached).toBe(0);
  });

  it('refuses redirects to other schemes, with credentials, or to nowhere', async () => {
    const expected = {
      'file:///etc/passwd': 'redirect_invalid',
      'http://u:p@127.0.0.1/': 'invalid_url',
      '': 'redirect_invalid',
    };
    for (const [location, reason] of Object.entries(expected)) {
      const port = await serve((_, response) => response.writeHead(302, { location }).end());
      const error = await failure(client().request(`http://127.0.0.1:${port}/`, { policy, maxRedirections: 5 }));
      expect(error.details?.reason).toBe(reason);
    }
  });

  it('keeps secrets with the origin they were meant for', async () => {
    const seen = await serve((request, response) => response.end(JSON.stringify([request.method, request.headers])));
    const other = await serve((_, response) =>
      response.writeHead(303, { location: `http://127.0.0.1:${seen}/` }).end(),
    );
    const headers = { Authorization: 'Bearer s', Cookie: 's', 'X-Api-Key': 's', Accept: 'text/html' };
    const request = { method: 'POST', body: 'secret', headers, policy, maxRedirections: 1 };
    const answer = await client().request(`http://127.0.0.1:${other}/`, request);
    const [method, sent] = JSON.parse(await answer.text());
    expect(method).toBe('GET');
    expect(sent).toMatchObject({ accept: 'text/html' });
    for (const name of ['authorization', 'cookie', 'x-api-key', 'content-length'])
      expect(sent).not.toHaveProperty(name);
  });

  it.each([
    [307, 'POST'],
    [308, 'POST'],
    [302, 'PUT'],
  ])('sends no body to another origin: %i of %s', async (status, method) => {
    const bodies: string[] = [];
    const seen = await serve(async (request, response) => {
      bodies.push(await text(request));
      response.end('taken');
    });
    const url = `http://127.0.0.1:${seen}/`;
    const port = await serve((request, response) => {
      const location = request.url === '/out' ? url : '/in';
      if (request.url === '/in') response.end('taken');
      else response.writeHead(status, { location }).end();
    });
    const request = { method, body: 'secret', policy, maxRedirections: 1 };
    const error = await failure(client().request(`http://127.0.0.1:${port}/out`, request));
    expect(error).toMatchObject({ details: { reason: 'redirect_invalid' } });
    expect(bodies).toEqual([]);
    const within = await client().request(`http://127.0.0.1:${port}/back`, request);
    expect(await within.text()).toBe('taken');
    const bare = await client().request(`http://127.0.0.1:${port}/out`, { ...request, body: null });
    expect(await bare.text()).toBe('taken');
    expect(bodies).toEqual(['']);
  });
});

describe('limits', () => {
  it('cuts bodies above maxBytes, announced or not', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/announced') response.setHeader('Content-Length', 2_000);
      response.write(Buffer.alloc(1_000));
      response.end(Buffer.alloc(1_000));
    });
    for (const path of ['announced', 'chunked']) {
      const url = `http://127.0.0.1:${port}/${path}`;
      const call = async (maxBytes: number) => (await client().request(url, { policy, maxBytes })).bytes();
      expect((await failure(call(1_999))).code).toBe('too_large');
      expect(await call(2_000)).toHaveLength(2_000);
    }
    const head = { policy, method: 'HEAD', maxBytes: 10 };
    expect((await client().request(`http://127.0.0.1:${port}/announced`, head)).status).toBe(200);
  });

  it('times out on silent headers, stalled bodies and the whole', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/silent') return;
      const timer = setInterval(() => response.write('x'), request.url === '/drip' ? 50 : 60_000);
      response.on('close', () => clearInterval(timer));
      response.write('x');
    });
    const call = async (path: string, timeouts: object) =>
      (await client().request(`http://127.0.0.1:${port}/${path}`, { policy, timeouts })).bytes();
    for (const [path, timeouts] of [
      ['silent', { headers: 200 }],
      ['stalled', { idle: 200 }],
      ['drip', { total: 400 }],
      ['silent', { total: 200 }],
    ] as const) {
      expect((await failure(call(path, timeouts))).details?.reason).toBe('timeout');
    }
  });

  it('does not wait for a resolver that hangs', async () => {
    const http = client({ resolve: () => new Promise(() => {}) });
    const error = await failure(http.request('http://slow.test/', { policy, timeouts: { connect: 100 } }));
    expect(error.details?.reason).toBe('timeout');
  });

  it('rejects with the reason of an aborted signal, before and during the body', async () => {
    const port = await serve((_, response) => void response.write('x'));
    const url = `http://127.0.0.1:${port}/`;
    const reason = new Error('shutting down');
    await expect(client().request(url, { policy, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const answer = await client().request(url, { policy, signal: controller.signal });
    const read = answer.text();
    controller.abort(reason);
    await expect(read).rejects.toBe(reason);
  });

  it('survives an answer that is not read', async () => {
    const port = await serve((_, response) => void response.write('x'));
    const controller = new AbortController();
    const url = `http://127.0.0.1:${port}/`;
    await client().request(url, { policy, signal: controller.signal });
    (await client().request(url, { policy })).discard();
    controller.abort();
    await sleep(50);
  });
});

describe('faults of the peer', () => {
  async function raw(bytes: string): Promise<string> {
    const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(bytes)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  }

  it.each([
    ['nothing', '', 'reset'],
    ['other bytes', 'not http\r\n\r\n', 'protocol'],
    ['a short body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', 'body_truncated'],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab', 'body_truncated'],
    ['a huge header', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`, 'protocol'],
  ])('%s', async (_, bytes, reason) => {
    const url = await raw(bytes);
    const error = await failure(
      client()
        .request(url, { policy })
        .then((answer) => answer.bytes()),
    );
    expect(error.code).toBe('upstream_unavailable');
    expect(error.details?.reason).toBe(reason);
    if (bytes.length > 64 * 1024) expect(error.message).toBe('127.0.0.1: the headers are larger than 65536 bytes');
  });

  it('a closed port', async () => {
    const error = await failure(client().request('http://127.0.0.1:1/', { policy }));
    expect(error.details).toEqual({ reason: 'connect', system: 'ECONNREFUSED' });
  });
});
