import { Server } from '@modelcontextprotocol/server';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { presets } from '../../src/kernel/actor.ts';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { seed, shared, startTestApp } from '../support/app.ts';
import { askRaw } from '../support/raw-http.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(() => startTestApp({ PORTICO_CORS_ORIGINS: 'https://client.example' }));
beforeAll(() => seed(app, siteFiles));
afterEach(() => vi.restoreAllMocks());

const accept = 'application/json, text/event-stream';
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const post = (body: unknown, options: { token?: string | null; headers?: Record<string, string> } = {}) =>
  app.ask('POST', '/mcp', { ...options, body, headers: { Accept: accept, ...options.headers } });

describe('POST /mcp', () => {
  it('answers a request of curl, without a session', async () => {
    const { status, headers, body } = await post(list);
    expect(status).toBe(200);
    expect(headers.get('mcp-session-id')).toBeNull();
    expect(headers.get('cache-control')).toMatch(/no-store|no-cache/);
    const message = typeof body === 'string' ? JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '') : body;
    expect(message.result.tools).toHaveLength(24);
  });

  it('returns 401 without a token, with one that is unknown or revoked, and with Basic', async () => {
    for (const header of [undefined, 'Bearer ptc_none', `Basic ${btoa(`x:${app.token}`)}`]) {
      const { status, headers, body } = await post(list, {
        token: null,
        headers: header === undefined ? {} : { Authorization: header },
      });
      expect({ status, challenge: headers.get('www-authenticate') }, header).toEqual({
        status: 401,
        challenge: 'Bearer',
      });
      expect(body).toMatchObject({ jsonrpc: '2.0', id: null, error: { data: { code: 'unauthenticated' } } });
    }
  });

  it('refuses several messages in one body: each may take as long as a request', async () => {
    for (const count of [1, 2, 100]) {
      const { status, body } = await post(Array.from({ length: count }, (_, id) => ({ ...list, id })));
      expect({ count, status }).toEqual({ count, status: 400 });
      expect(body).toMatchObject({ id: null, error: { code: -32_600, data: { code: 'invalid_request' } } });
    }
  });

  it('takes no session of a browser', async () => {
    const { status } = await post(list, {
      token: null,
      headers: { Cookie: 'portico=abc', 'Sec-Fetch-Site': 'same-origin' },
    });
    expect(status).toBe(401);
  });

  it('refuses pages of other origins, and lets those in that CORS allows', async () => {
    const from = (origin: string) => post(list, { headers: { Origin: origin } });
    expect((await from('https://evil.example')).status).toBe(403);
    expect((await from('null')).status).toBe(403);
    expect((await from('http://portico.test')).status).toBe(200);
    const allowed = await from('https://client.example');
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://client.example');
  });

  it('refuses a host that is neither the service nor this machine', async () => {
    const statusFor = async (host: string) =>
      (await askRaw(app, 'POST', '/mcp', { body: JSON.stringify(list), headers: { host, accept } })).status;
    expect(await statusFor('rebound.example')).toBe(403);
    expect(await statusFor('someone@localhost')).toBe(403);
    expect(await statusFor('portico.test')).toBe(200);
    expect(await statusFor('localhost:4000')).toBe(200);
  });

  it('says what is wrong with a body', async () => {
    expect((await post('{')).body.error.message).toBe('body: is not valid JSON');
    const deep = `${'['.repeat(101)}${']'.repeat(101)}`;
    expect((await post(deep)).body.error.message).toContain('nested more than 100 levels');
    const large = JSON.stringify({ ...list, params: { x: 'x'.repeat(10 * 1024 * 1024) } });
    expect((await post(large)).status).toBe(413);
    expect((await post(list, { headers: { 'Content-Type': 'text/plain' } })).status).toBe(415);
    const unknown = await post({ ...list, method: 'tools/none' });
    expect(JSON.stringify(unknown.body)).toContain('-32601');
  });

  it('bounds what the library has to walk, before the library sees any of it', async () => {
    const handlers = vi.spyOn(Server.prototype, 'setRequestHandler');
    const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [String(at * 7), '']));
    const initialize = { protocolVersion: '2025-06-18', clientInfo: { name: 'a', version: '1' } };
    const completion = { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } };
    const places: [string, string, (values: object) => object, number][] = [
      ['tools/list', 'params._meta', (values) => ({ _meta: values }), 5],
      ['tools/list', 'params._meta.list', (values) => ({ _meta: { list: Object.values(values) } }), 6],
      ['tools/list', 'params', (values) => values, 4],
      ['tools/call', 'params._meta', (values) => ({ _meta: values, name: 'list_branches', arguments: {} }), 7],
      ['tools/call', 'params.arguments', (values) => ({ name: 'list_branches', arguments: values }), 6],
      ['initialize', 'params.capabilities', (values) => ({ ...initialize, capabilities: values }), 9],
      [
        'completion/complete',
        'params.context.arguments',
        (values) => ({ ...completion, context: { arguments: values } }),
        12,
      ],
      ['prompts/get', 'params.arguments', (values) => ({ name: 'improve_text', arguments: values }), 6],
    ];
    for (const [method, field, params, others] of places) {
      const answer = (count: number) => post({ ...list, method, params: params(named(count - others)) });
      handlers.mockClear();
      const { status, body } = await answer(1_001);
      expect({ status, id: body.id, data: body.error?.data.code }, field).toEqual({
        ...{ status: 400, id: null, data: 'invalid_request' },
      });
      expect(body.error.message).toBe(
        `${field}: the message has more than 1000 values besides those within arguments of a tool; send fewer`,
      );
      expect(handlers, field).not.toHaveBeenCalled();
      await answer(1_000);
      expect(handlers, field).toHaveBeenCalled();
    }
    const given = { project: 'site', unknown: named(2_000) };
    const { status } = await post({
      ...list,
      method: 'tools/call',
      params: { name: 'list_branches', arguments: given },
    });
    expect(status).toBe(200);
  });

  it('bounds what an answer may repeat, before the library sees any of it', async () => {
    const handlers = vi.spyOn(Server.prototype, 'setRequestHandler');
    const long = (length: number) => 'x'.repeat(length);
    const names = ['jsonrpc', '2.0', 'id', 'method', 'tools/list', 'params'].join('').length;
    const places: [field: string, message: (text: string) => object, others: number][] = [
      ['id', (id) => ({ ...list, id }), names],
      ['params', (name) => ({ ...list, params: { [name]: 1 } }), names],
      ['params.cursor', (cursor) => ({ ...list, params: { cursor } }), names + 6],
    ];
    for (const [field, message, others] of places) {
      handlers.mockClear();
      const { status, body } = await post(message(long(64 * 1024 - others + 1)));
      expect({ status, id: body.id, data: body.error?.data.code }, field).toEqual({
        ...{ status: 400, id: null, data: 'invalid_request' },
      });
      expect(body.error.message).toBe(
        `${field}: the message has more than 65536 characters besides those within arguments of a tool; send fewer`,
      );
      expect(handlers, field).not.toHaveBeenCalled();
      await post(message(long(64 * 1024 - others)));
      expect(handlers, field).toHaveBeenCalled();
    }
    const { status } = await post({
      ...list,
      method: 'tools/call',
      params: { name: 'list_branches', arguments: { project: 'site', search: long(100_000) } },
    });
    expect(status).toBe(200);
  });

  it('counts its answers until they are read', async () => {
    const add = vi.spyOn(answerMemory, 'addOfCommand');
    const { body } = await post(list);
    expect(add.mock.calls.map(([, bytes]) => bytes)).toEqual([Buffer.byteLength(body)]);
  });

  it('has no stream to GET, and no session to DELETE', async () => {
    for (const method of ['GET', 'DELETE'])
      expect((await app.ask(method, '/mcp', { headers: { Accept: accept } })).status, method).toBe(405);
  });

  it('names the project to choose where a token reaches several', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name: 'Two', machine_name: 'two' } });
    const call = (given: object, token: string) =>
      post({ ...list, method: 'tools/call', params: { name: 'list_branches', arguments: given } }, { token });
    const answerOf = async (given: object, token = app.token) => {
      const { body } = await call(given, token);
      return JSON.parse(/^data: (.*)$/m.exec(String(body))?.[1] ?? JSON.stringify(body)).result;
    };
    expect((await answerOf({})).content[0].text).toContain('project: is required; there are site, two');
    expect((await answerOf({ project: 'two' })).structuredContent.total_count).toBe(0);
    expect((await answerOf({ project: 'none' })).content[0].text).toContain('reaches no such project');
    const confined = await app.makeToken(presets.readonly, { projects: ['site'] });
    expect((await answerOf({}, confined)).structuredContent.items[0].name).toBe('main');
    expect((await answerOf({ organization: 'acme', project: 'two' }, confined)).isError).toBe(true);
  });

  it('shows nothing of a fault of its own but the id of the request, by which the log has the rest', async () => {
    vi.spyOn(app.services.places, 'project').mockRejectedValue(new Error('relation "inner" does not exist'));
    const at = { organization: 'acme', project: 'site' };
    const asked: [string, object][] = [
      ['tools/call', { name: 'list_branches', arguments: at }],
      ['resources/list', {}],
      ['resources/read', { uri: 'portico://acme/site/posts' }],
      ['prompts/get', { name: 'improve_text', arguments: { project: 'site', collection: 'posts', entry: 'en/alpha' } }],
      [
        'completion/complete',
        {
          ref: { type: 'ref/resource', uri: 'portico://{organization}/{project}/{collection}/{+slug}' },
          argument: { name: 'collection', value: '' },
          context: { arguments: at },
        },
      ],
    ];
    for (const [method, params] of asked) {
      app.log.length = 0;
      const { body, headers } = await post({ ...list, method, params });
      const request_id = headers.get('x-request-id');
      const { error } = JSON.parse(/^data: (.*)$/m.exec(String(body))?.[1] ?? JSON.stringify(body));
      expect(error, method).toMatchObject({
        code: -32_603,
        message: 'Something went wrong',
        data: { code: 'internal', request_id },
      });
      expect(String(body) + JSON.stringify(body), method).not.toContain('inner');
      const line = app.log.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'MCP request failed');
      expect(line, method).toMatchObject({ request_id, err: { message: 'relation "inner" does not exist' } });
    }
  });
});
