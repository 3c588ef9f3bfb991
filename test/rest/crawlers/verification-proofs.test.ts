import { describe, expect, it } from 'vitest';
import { isVerified } from '../../../src/domain/crawlers/verification/verification-state.ts';
import { createGuardedHttp } from '../../../src/engines/http/guarded-http.ts';
import type { TestApp } from '../../support/app.ts';
import { file, outcomes, useVerifying, type Verifying } from '../../support/crawlers/verifying.ts';

let setting: Verifying;
let app: TestApp;
useVerifying((started) => {
  setting = started;
  ({ app } = started);
});

describe('by dns', () => {
  it('a record of the registrable domain proves all names below it', async () => {
    const { name, token, check, read, domain } = await setting.crawler();
    setting.dns.zone.set(`_portico-challenge.${name}`, [['unrelated'], ['portico-verification=', token]]);
    const body = await check({ method: 'dns' });
    expect([body.state, body.method, outcomes(body)]).toEqual(['verified', 'dns', { dns: 'found' }]);
    expect([(await read()).domain_verified, (await read()).verification.state]).toEqual([1, 'verified']);
    const known = (host: string) => isVerified(app.services, { id: setting.organization }, host);
    expect(await Promise.all([domain, name, `deep.${name}`, `deep.${name}:81`, `x${name}`].map(known))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('a record of the host proves it, not its siblings', async () => {
    const { name, token, check } = await setting.crawler();
    setting.dns.zone.set(`_portico-challenge.www.${name}`, [[`portico-verification=${token}`]]);
    expect((await check({ method: 'dns' })).state).toBe('verified');
    expect(await isVerified(app.services, { id: setting.organization }, `a.www.${name}`)).toBe(true);
    expect(await isVerified(app.services, { id: setting.organization }, name)).toBe(false);
  });

  it.each([
    ['no record', undefined, 'absent'],
    ['another token', [['portico-verification=x']], 'absent'],
    ['the token alone', 'token', 'absent'],
    ['a server that fails', 'servfail', 'unreachable'],
  ] as const)('%s: failed', async (_title, records, outcome) => {
    const { name, token, check } = await setting.crawler();
    if (records !== undefined)
      setting.dns.zone.set(
        `_portico-challenge.${name}`,
        records === 'token' ? [[token]] : records === 'servfail' ? records : records.map((one) => [...one]),
      );
    const body = await check({ method: 'dns' });
    expect([body.state, outcomes(body)]).toEqual(['failed', { dns: outcome }]);
    expect(body.checked_at).not.toBe(null);
  });
});

describe('by file', () => {
  it('the body is the token, blanks aside, and proves the host and its sibling', async () => {
    const { token, check, name } = await setting.crawler();
    setting.pages({ [file]: `\n ${token}\r\n` });
    const body = await check({ method: 'file' });
    expect([body.state, body.method, outcomes(body)]).toEqual(['verified', 'file', { file: 'found' }]);
    const known = (host: string) => isVerified(app.services, { id: setting.organization }, host);
    const hosts = [`${name}:${setting.port}`, name, `www.${name}`, `deep.${name}:${setting.port}`];
    expect(await Promise.all(hosts.map(known))).toEqual([true, false, false, false]);
  });

  it('may begin with a byte order mark', async () => {
    const { token, check } = await setting.crawler();
    setting.pages({ [file]: `\ufeff${token}` });
    expect((await check({ method: 'file' })).state).toBe('verified');
  });

  it('of 1024 bytes it may be, of 1025 not', async () => {
    const { token, check } = await setting.crawler();
    setting.pages({ [file]: token.padEnd(1_025) });
    expect(outcomes(await check({ method: 'file' }))).toEqual({ file: 'absent' });
    setting.pages({ [file]: token.padEnd(1_024) });
    expect((await check({ method: 'file' })).state).toBe('verified');
  });

  it('follows three redirects on the host and its sibling', async () => {
    const { token, check, name } = await setting.crawler();
    const hops = (to: number, last: string) => {
      setting.serve((request, response) => {
        const hop = request.url === file ? 0 : Number(request.url?.slice(1));
        if (hop < to)
          response
            .writeHead(302, { location: hop % 2 ? `/${hop + 1}` : `http://${name}:${setting.port}/${hop + 1}` })
            .end();
        else response.end(last);
      });
    };
    hops(4, token);
    expect(outcomes(await check({ method: 'file' }))).toEqual({ file: 'absent' });
    hops(3, token);
    expect((await check({ method: 'file' })).state).toBe('verified');
  });

  it.each([
    ['another text', 'x', 200, undefined, 'absent'],
    ['an answer that is not 200', null, 404, undefined, 'absent'],
    ['a server that fails', null, 503, undefined, 'unreachable'],
    ['a redirect elsewhere', null, 302, 'http://else.example/', 'absent'],
    ['a redirect to another port', null, 302, 'http://www.site.example:1/', 'absent'],
    ['a redirect nowhere', null, 302, '', 'absent'],
  ])('%s: failed', async (_title, text, status, location, outcome) => {
    const { check } = await setting.crawler();
    setting.serve((_request, response) =>
      response.writeHead(status, location === undefined ? {} : { location }).end(text),
    );
    const body = await check({ method: 'file' });
    expect([body.state, outcomes(body)]).toEqual(['failed', { file: outcome }]);
  });

  it('never reaches inner addresses', async () => {
    const { check, token } = await setting.crawler();
    const open = app.services.http;
    setting.pages({ [file]: token });
    app.services.http = createGuardedHttp({ allowedCidrs: [], resolve: async () => ['127.0.0.1'] });
    const body = await check({ method: 'file' });
    await app.services.http.close();
    app.services.http = open;
    expect([body.state, outcomes(body)]).toEqual(['failed', { file: 'unreachable' }]);
  });
});

describe('by meta', () => {
  const tag = (token: string) => `<meta name="portico-verification" content="${token}">`;

  it.each<[string, (token: string) => string]>([
    ['in the head', (token) => `<!doctype html><html><head><title>x</title>${tag(token)}</head><body>y</body></html>`],
    [
      'beside others, in other spellings',
      (token) => `${tag('x')}<META Content=' ${token} ' NAME=Portico-Verification>`,
    ],
  ])('%s: verified', async (_title, page) => {
    const { token, check } = await setting.crawler();
    setting.pages({ '/': page(token) });
    const body = await check({ method: 'meta' });
    expect([body.state, body.method]).toEqual(['verified', 'meta']);
  });

  it.each<[string, (token: string) => string]>([
    ['in the body', (token) => `<head></head><body>${tag(token)}</body>`],
    ['after something of the body', (token) => `<head><div>${tag(token)}</div></head>`],
    ['in a comment', (token) => `<head><!-- ${tag(token)} --></head>`],
    ['in a script', (token) => `<head><script>'${tag(token)}'</script></head>`],
    ['in a template', (token) => `<head><template>${tag(token)}</template></head>`],
    ['of another name', (token) => `<head>${tag(token).replace('portico-', '')}</head>`],
    ['as a part', (token) => `<head>${tag(`${token}x`)}</head>`],
  ])('%s: failed', async (_title, page) => {
    const { token, check } = await setting.crawler();
    setting.pages({ '/': page(token) });
    const body = await check({ method: 'meta' });
    expect([body.state, outcomes(body)]).toEqual(['failed', { meta: 'absent' }]);
  });
});
