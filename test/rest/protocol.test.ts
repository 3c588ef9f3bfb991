import { Agent, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { askRaw, overSocket } from '../support/raw-http.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const posts = `${studio}/collections/posts`;
const mebibyte = 1024 * 1024;
/** A request that is refused for its branch's name only, with a body of exactly so many bytes. */
const bodyOf = (bytes: number) => {
  const frame = '{"name":"","padding":""}';
  return frame.replace('padding":"', `padding":"${'x'.repeat(bytes - frame.length)}`);
};

describe('200', () => {
  it('answers HEAD with the headers of GET and no body', async () => {
    const [got, head] = [await app.ask('GET', `${posts}/en/alpha`), await app.ask('HEAD', `${posts}/en/alpha`)];
    expect(head.status).toBe(200);
    expect(head.body).toBe('');
    for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'vary'])
      expect(head.headers.get(name)).toBe(got.headers.get(name));
  });

  it('keeps answers private and checked again', async () => {
    const { headers } = await app.ask('GET', `${posts}/en/alpha`);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('vary')).toBe('Authorization, Cookie');
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it.each(['a', 'A.b_c-1', 'x'.repeat(64)])('gives the request id %s back', async (id) => {
    expect((await app.ask('GET', acme, { headers: { 'X-Request-Id': id } })).headers.get('x-request-id')).toBe(id);
  });

  it.each(['', 'x'.repeat(65), 'a b', 'ä', '<script>'])('makes a request id of its own instead of "%s"', async (id) => {
    const { headers } = await askRaw(app, 'GET', acme, {
      headers: { 'X-Request-Id': Buffer.from(id).toString('latin1') },
    });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('takes a name given twice with the same value, in path, query and body', async () => {
    const body = { collection: 'posts', slug: 'en/twice', branch: 'main', frontmatter: { title: 'T', author: 'ada' } };
    const made = await app.ask('POST', `${posts}?branch=main&branch=main`, { body });
    expect(made.status).toBe(201);
  });

  it('reads a compressed body', async () => {
    const body = gzipSync(JSON.stringify({ slug: 'en/packed', frontmatter: { title: 'P', author: 'ada' } }));
    const made = await askRaw(app, 'POST', posts, { body, headers: { 'content-encoding': 'gzip' } });
    expect(made.status).toBe(201);
  });

  it.each(['application/json; charset=utf-8', 'application/merge-patch+json', 'APPLICATION/JSON'])(
    'reads %s',
    async (type) => {
      const body = JSON.stringify({ frontmatter: { title: `Read as ${type}` } });
      const saved = await askRaw(app, 'PUT', `${posts}/en/alpha`, { body, headers: { 'content-type': type } });
      expect(saved.status).toBe(200);
    },
  );
});

describe('X-Ignored-Fields', () => {
  const ignored = async (query: string, body?: object) =>
    (await app.ask(body ? 'PUT' : 'GET', `${posts}/en/alpha${query}`, body ? { body } : {})).headers.get(
      'x-ignored-fields',
    );

  it('is absent when all names are known', async () => {
    expect(await ignored('?branch=main&raw=true')).toBeNull();
    expect(await ignored('', { frontmatter: { anything: { goes: 1 } } })).toBeNull();
  });

  it('names what was not understood, of query and body, dotted and sorted', async () => {
    expect(await ignored('?zeta=1&alpha=2')).toBe('alpha,zeta');
    const body = { author: { name: 'A', email: 'a@b', title: 'Dr' }, tilte: 'typo', mode: 'merge' };
    expect(await ignored('?x=1', body)).toBe('author.title,tilte,x');
  });

  it('is safe to put into a header whatever the names are', async () => {
    expect(await ignored('', { 'a b': 1, 'c\r\nSet-Cookie: x=y': 1, 'd,e': 1, ü: 1 })).toBe(
      '%C3%BC,a%20b,c%0D%0ASet-Cookie%3A%20x%3Dy,d%2Ce',
    );
  });

  it('names at most twenty, in at most 1 KiB', async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`n${at}`, 1]));
    expect((await ignored('', many))?.split(',')).toHaveLength(20);
    const long = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}`.padEnd(200, 'x'), 1]));
    expect((await ignored('', long))?.length).toBeLessThanOrEqual(1024);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__proto__[raw]'])(
    'takes %s for a name like any other, in the query',
    async (name) => {
      const { status, headers, body } = await app.ask('GET', `${posts}/en/alpha?${name}=true`);
      expect(status).toBe(200);
      expect(headers.get('x-ignored-fields')).toBe(name.replace(/\[.*/, ''));
      expect(body).not.toHaveProperty('raw');
    },
  );

  it.each(['__proto__', 'constructor', 'toString'])('takes %s for a name like any other, in the body', async (name) => {
    const { status, headers, body } = await app.ask('PUT', `${posts}/en/alpha`, {
      body: `{"${name}":{"frontmatter":{"title":"Smuggled"}}}`,
    });
    expect({ status, unchanged: body.unchanged }).toEqual({ status: 200, unchanged: true });
    expect(headers.get('x-ignored-fields')).toBe(name);
  });
});

describe('400', () => {
  it.each(['{', '{"slug":}', "{'slug':'a'}", 'undefined', '{"a":1}{', '\u0000'])('is no JSON: %j', async (body) => {
    expectRefusal(await app.ask('POST', posts, { body }), 400, 'invalid_request', 'body: is not valid JSON');
  });

  it.each(['[]', '"text"', 'null', '12', 'true'])('is JSON but no object: %s', async (body) => {
    expectRefusal(await app.ask('POST', posts, { body }), 400, 'invalid_request', 'body: must be a JSON object');
  });

  it('is not UTF-8: a byte that would be replaced is refused', async () => {
    const body = Buffer.concat([Buffer.from('{"slug":"a'), Buffer.from([0xff]), Buffer.from('"}')]);
    expectRefusal(await askRaw(app, 'POST', posts, { body }), 400, 'invalid_request', 'body: is not valid UTF-8');
  });

  it('ends before its announced length', async () => {
    const head = `POST ${posts} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\nContent-Type: application/json\r\n`;
    await overSocket(app, `${head}Content-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope`).then(
      (text) => expect(text).toMatch(/^HTTP\/1\.1 400 /),
    );
  });

  it.each([
    ['slug: is required', {}],
    ['slug: must be a string', { slug: 5 }],
    ['slug: must be a string', { slug: null }],
    ['slug: must be a string', { slug: ['a'] }],
    ['frontmatter: must be an object', { slug: 'a', frontmatter: [] }],
    ['frontmatter: must be an object', { slug: 'a', frontmatter: 'title: A' }],
    ['frontmatter: must be an object', { slug: 'a', frontmatter: null }],
    ['body: must be a string', { slug: 'a', body: 1 }],
    ['author.name: must be a string', { slug: 'a', author: { name: 1, email: 'a@b' } }],
    ['author.email: is required', { slug: 'a', author: { name: 'A' } }],
    ['message: must be at most 65536 characters', { slug: 'a', message: 'x'.repeat(65_537) }],
    ['apply_defaults: must be a boolean', { slug: 'a', apply_defaults: 'yes' }],
  ])('names the field: %s', async (message, body) => {
    const answer = await app.ask('POST', posts, { body });
    expectRefusal(answer, 400, 'invalid_request', message);
    expect(answer.body.details.errors[0].field).toBe(`/${message.split(':')[0]?.replace('.', '/')}`);
  });

  it('names every faulty field in its details', async () => {
    const { body } = await app.ask('POST', posts, { body: { slug: 1, body: 2, author: { name: 3 } } });
    const fields = body.details.errors.map(({ field }: { field: string }) => field);
    expect(fields.sort()).toEqual(['/author/email', '/author/name', '/body', '/slug']);
  });

  it.each([
    ['page=x', 'page: must be a number'],
    ['page=0', 'page: must be at least 1'],
    ['page=-1', 'page: must be at least 1'],
    ['page=1.5', 'page: must be an integer'],
    ['page=', 'page: must be a number'],
    ['page=1e3', 'page: must be a number'],
    ['per_page=0', 'per_page: must be at least 1'],
    ['per_page=many', 'per_page: must be a number'],
    ['draft=maybe', 'draft: must be one of any, only, without'],
    ['depth=0', 'depth: must be at least 1'],
    ['after=nonsense', /^after: /],
    ['after=OjA&page=2', /^after: excludes page/],
    ['filter=x', /^filter: /],
    ['branch=main&ref=0123456789012345678901234567890123456789', /^ref: excludes branch/],
  ])('?%s', async (query, message) => {
    expectRefusal(await app.ask('GET', `${posts}?${query}`), 400, 'invalid_request', message);
  });

  it.each([
    ['?branch=a&branch=b', {}],
    ['?branch=a', { branch: 'b' }],
    ['', { collection: 'authors' }],
    ['?collection=authors', {}],
    ['', { organization: 'other' }],
    ['', { project: 'other' }],
  ])('a name given twice with different values: %s %j', async (query, body) => {
    const answer = await app.ask('POST', `${posts}${query}`, { body: { slug: 'a', ...body } });
    expectRefusal(answer, 400, 'invalid_request', /^\w+: is given twice with different values$/);
  });

  it('a query of over 200 parameters', async () => {
    const query = Array.from({ length: 201 }, (_, at) => `p${at}=1`).join('&');
    expectRefusal(
      await app.ask('GET', `${posts}?${query}`),
      400,
      'invalid_request',
      'query: must have at most 200 parameters',
    );
    expect((await app.ask('GET', `${posts}?${query.replace(/&p200=1$/, '')}`)).status).toBe(200);
  });

  it.each(['a%', '%', 'a%2', 'a%zz', '%ff', '%c3%28', '%ed%a0%80', '%c0%ae'])(
    'a path that is no UTF-8: %s',
    async (slug) => {
      expectRefusal(await askRaw(app, 'GET', `${posts}/${slug}`), 400, 'invalid_path', /^The path is not valid/);
    },
  );

  it.each(['path=%ff', 'path=a%', 'path=%c3%28', '%ff=1'])('a query that is no UTF-8: %s', async (query) => {
    const answer = await askRaw(app, 'GET', `${studio}/file?${query}`);
    expectRefusal(answer, 400, 'invalid_request', 'query: is not valid percent-encoded UTF-8');
  });
});

describe('404', () => {
  it.each([
    '/api/v2/organizations/',
    `${acme}/`,
    `${acme}/projects/`,
    `${studio}/schema/`,
    `${studio}/collections/`,
    `${posts}/`,
    `${studio}/branches/`,
    `${studio}/file/`,
    `${studio}//collections`,
    `/${posts}`,
    `${studio}/Schema`,
    '/api/v2/Organizations',
    '/api/v1/organizations',
    '/api/v2',
    '/nothing',
    '/api/v2/organizations/acme/projects/site/studio/nothing',
    `${studio}/collections/..%2fschema`,
  ])('%s', async (path) => {
    expectRefusal(await askRaw(app, 'GET', path), 404, 'not_found', /./);
  });
});

describe('405', () => {
  it.each([
    ['POST', acme, 'DELETE, GET, HEAD, PATCH'],
    ['PUT', '/api/v2/organizations', 'GET, HEAD, POST'],
    ['DELETE', `${acme}/tokens`, 'GET, HEAD, POST'],
    ['GET', `${acme}/tokens/1`, 'DELETE'],
    ['GET', `${studio}/schema/refresh`, 'GET, HEAD'],
    ['PATCH', `${posts}/en/alpha`, 'DELETE, GET, HEAD, PUT'],
    ['POST', `${posts}/en/alpha`, 'DELETE, GET, HEAD, PUT'],
    ['DELETE', `${studio}/commits`, 'GET, HEAD'],
    ['PROPFIND', acme, 'DELETE, GET, HEAD, PATCH'],
    ['TRACE', acme, 'DELETE, GET, HEAD, PATCH'],
  ])('%s %s', async (method, path, allow) => {
    const answer = await askRaw(app, method, path);
    if (path.endsWith('/schema/refresh')) return expect(answer.status).toBe(404);
    expectRefusal(answer, 405, 'method_not_allowed', `Method not allowed; allowed: ${allow}`);
    expect(answer.headers.get('allow')).toBe(allow);
  });
});

describe('413', () => {
  it('one byte over 10 MiB, announced or not, and not at 10 MiB', async () => {
    const at = `${studio}/branches`;
    const over = await askRaw(app, 'POST', at, { body: bodyOf(10 * mebibyte + 1) });
    expectRefusal(over, 413, 'too_large', 'body: must be at most 10485760 bytes');
    const under = await askRaw(app, 'POST', at, { body: bodyOf(10 * mebibyte) });
    expectRefusal(under, 422, 'invalid_name', /^name: /);
    const streamed = { 'transfer-encoding': 'chunked', 'content-length': [] };
    const chunked = await askRaw(app, 'POST', at, { body: bodyOf(10 * mebibyte + 1), headers: streamed });
    expectRefusal(chunked, 413, 'too_large', /^body: /);
  });

  it('counts what a compressed body unfolds to', async () => {
    const body = gzipSync(bodyOf(11 * mebibyte));
    const answer = await askRaw(app, 'POST', `${studio}/branches`, { body, headers: { 'content-encoding': 'gzip' } });
    expectRefusal(answer, 413, 'too_large', /^body: /);
  });
});

describe('415', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/json', 'x'])(
    'a body of type %s',
    async (type) => {
      const answer = await askRaw(app, 'POST', posts, { body: '{"slug":"a"}', headers: { 'content-type': type } });
      expectRefusal(answer, 415, 'unsupported_media', /^body: must be JSON/);
    },
  );

  it('a body without a type', async () => {
    const answer = await askRaw(app, 'POST', posts, { body: '{"slug":"a"}', headers: { 'content-type': [] } });
    expectRefusal(answer, 415, 'unsupported_media', /^body: must be JSON/);
  });

  it.each([{ 'content-encoding': 'zip' }, { 'content-type': 'application/json; charset=iso-8859-1' }])(
    'a body in an unknown encoding: %j',
    async (headers) => {
      const answer = await askRaw(app, 'POST', posts, { body: '{"slug":"a"}', headers });
      expectRefusal(answer, 415, 'unsupported_media', /^body: its encoding/);
    },
  );
});

describe('401 before anything else', () => {
  it.each<[string, { body: string; headers?: Record<string, string> }]>([
    ['a body that is no JSON', { body: '{' }],
    ['a body of a wrong type', { body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['a body over the limit', { body: bodyOf(11 * mebibyte) }],
  ])('%s', async (_what, options) => {
    const answer = await askRaw(app, 'POST', posts, { token: null, ...options });
    expectRefusal(answer, 401, 'unauthenticated', 'Unauthenticated');
  });

  it.each(['Basic dTpw', 'Bearer', 'Bearer ', 'bearer a b', 'Token x', `Bearer ${'a'.repeat(5000)}`])(
    'with %s',
    async (value) => {
      const answer = await askRaw(app, 'GET', acme, { token: null, headers: { authorization: value } });
      expectRefusal(answer, 401, 'unauthenticated', 'Unauthenticated');
    },
  );

  it('never takes a token from the query', async () => {
    const answer = await app.ask('GET', `${acme}?token=${app.token}&access_token=${app.token}`, { token: null });
    expectRefusal(answer, 401, 'unauthenticated', 'Unauthenticated');
  });
});

it('answers the next request on a connection whose upload was refused halfway answers the next request', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const boundary = 'part';
  const ask = (method: string, at: string, body?: Buffer) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        Authorization: `Bearer ${app.token}`,
        ...(body && { 'Content-Type': `multipart/form-data; boundary=${boundary}` }),
      };
      const sent = request(`${app.url}${at}`, { method, agent, headers }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      });
      sent.once('error', reject).end(body);
    });
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(3_000_000, 1), Buffer.from(`\r\n--${boundary}--\r\n`)]);
  expect(await ask('POST', `${studio}/media?branch=none-such`, body)).toBeGreaterThanOrEqual(400);
  expect(await ask('GET', acme)).toBe(200);
  agent.destroy();
});

it.each(['/api/v2/me', '/graphql', '/git/acme/site.git/info/refs?service=git-upload-pack'])(
  'returns 400 for two Authorization headers, whichever is good, at %s',
  async (path) => {
    const lines = (...tokens: string[]) => tokens.map((token) => `Authorization: Bearer ${token}\r\n`).join('');
    const ask = (authorization: string) =>
      overSocket(app, `GET ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Connection: close\r\n\r\n`);
    for (const tokens of [
      ['other', app.token],
      [app.token, 'other'],
      [app.token, app.token],
    ]) {
      const answer = await ask(lines(...tokens));
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('Authorization: must be sent once');
    }
    expect(await ask(lines(app.token))).not.toContain('must be sent once');
  },
);

describe('two Host headers', () => {
  it.each(['/', '/healthz', posts, '/git/acme/site.git/info/refs?service=git-upload-pack'])(
    'are refused with 400 on %s, the same twice as well',
    async (path) => {
      for (const second of ['x', 'evil.example']) {
        const answer = await overSocket(app, `GET ${path} HTTP/1.1\r\nHost: x\r\nhost: ${second}\r\n\r\n`);
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
        expect(answer).toContain('Host: must be sent once');
      }
      const one = await overSocket(app, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(one).not.toMatch(/^HTTP\/1\.1 400 /);
    },
  );
});

describe('a request that Node would refuse without a body', () => {
  const refused = (answer: string) => {
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    return { line: head.split('\r\n')[0], body: JSON.parse(body) };
  };

  it.each(['/', '/healthz', posts])('has the usual one without a Host header, at %s', async (path) => {
    const { line, body } = refused(await overSocket(app, `GET ${path} HTTP/1.1\r\n\r\n`));
    expect(line).toBe('HTTP/1.1 400 Bad Request');
    expect(body).toEqual({
      message: 'Host: is required',
      error: true,
      code: 'invalid_request',
      request_id: expect.any(String),
    });
    // HTTP/1.0 has none.
    expect(await overSocket(app, `GET ${path} HTTP/1.0\r\n\r\n`)).not.toMatch(/^HTTP\/1\.1 400 /);
  });

  it('has the usual one when it expects something else than 100-continue', async () => {
    const head = 'Host: x\r\nConnection: close\r\nContent-Length: 2\r\n';
    const { line, body } = refused(await overSocket(app, `POST ${posts} HTTP/1.1\r\n${head}Expect: 200-ok\r\n\r\n{}`));
    expect(line).toBe('HTTP/1.1 417 Expectation Failed');
    expect(body).toMatchObject({ message: 'Expect: must be 100-continue, or absent', code: 'invalid_request' });
    const went = await overSocket(app, `POST ${posts} HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n{}`);
    expect(went).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 401 /);
  });
});
