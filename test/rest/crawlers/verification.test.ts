import { describe, expect, it } from 'vitest';
import { createOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { permissionNames } from '../../../src/kernel/actor.ts';
import { acme, type TestApp } from '../../support/app.ts';
import { crawlers, file, outcomes, useVerifying, type Verifying } from '../../support/crawlers/verifying.ts';
import { revocable } from '../../support/mirror.ts';
import { expectRefusal } from '../../support/refusal.ts';

let setting: Verifying;
let app: TestApp;
useVerifying((started) => {
  setting = started;
  ({ app } = started);
});

describe('a start', () => {
  it('gives a token for the organisation and the registrable domain, and says what to do with it', async () => {
    const { token, domain, name, start, read } = await setting.crawler({ allowed_domains: ['docs.else.example'] });
    expect(token).toMatch(/^[0-9A-Za-z]{27}$/);
    const again = await start();
    expect(again).toEqual({
      host: domain,
      state: 'pending',
      method: null,
      token,
      instructions: {
        dns: { name: `_portico-challenge.www.${name}`, type: 'TXT', value: `portico-verification=${token}` },
        file: { url: `https://${domain}${file}`, content: token },
        meta: { html: `<meta name="portico-verification" content="${token}">` },
      },
      checks: [],
      checked_at: null,
      verified_at: null,
    });
    const other = await start('https://Docs.Else.example/');
    expect([other.host, other.token === token]).toEqual(['docs.else.example', false]);
    expect((await read()).verification).toEqual({ state: 'pending', method: null, checked_at: null });
  });

  it('gives another organisation another token', async () => {
    const { token, domain } = await setting.crawler();
    await app.run(createOrganization, { name: 'Rival', machine_name: 'rival' });
    await app.run(createProject, { organization: 'rival', name: 'Site', machine_name: 'site' });
    const theirs = '/api/v2/organizations/rival/projects/site/crawlers';
    const rival = await app.makeToken(permissionNames, { organization: 'rival' });
    const { body } = await app.ask('POST', theirs, { token: rival, body: { domain } });
    const started = await app.ask('POST', `${theirs}/${body.uuid}/verification`, { token: rival, body: {} });
    expect(started.body.token).not.toBe(token);
  });

  it('accepts only the hosts of the crawler', async () => {
    const { ask } = await setting.crawler({ allowed_domains: ['a.else.example', '*.cdn.else.example'] });
    const text = 'host: must be the host of the crawler or one of its allowed_domains';
    for (const host of ['b.else.example', 'x', '', '*.cdn.else.example'])
      expectRefusal(await ask('POST', '', { host }), 400, 'invalid_request', text);
    expect((await ask('GET', '?host=cdn.else.example')).body.state).toBe('none');
  });

  it('shows the token only to callers with manage_crawlers', async () => {
    const { at, token } = await setting.crawler();
    const reader = await app.makeToken(permissionNames.filter((name) => name !== 'manage_crawlers'));
    const seen = await app.ask('GET', `${at}/verification`, { token: reader });
    expect([seen.status, seen.body.token, seen.body.instructions]).toEqual([200, null, null]);
    expect(JSON.stringify(seen.body)).not.toContain(token);
    expect((await app.ask('GET', `${at}/verification`)).body.token).toBe(token);
    for (const where of ['', '/check']) {
      const refused = await app.ask('POST', `${at}/verification${where}`, { token: reader, body: {} });
      expectRefusal(refused, 403, 'forbidden', /manage_crawlers/);
    }
  });
});

describe('a check', () => {
  it('tries all methods and returns what each found', async () => {
    const { token, check } = await setting.crawler();
    setting.pages({ [file]: 'nothing', '/': `<meta name="portico-verification" content="${token}">` });
    const body = await check();
    expect(outcomes(body)).toEqual({ dns: 'absent', file: 'absent', meta: 'found' });
    expect([body.state, body.method]).toEqual(['verified', 'meta']);
    for (const { detail } of body.checks) expect(detail).toMatch(/^\S/);
    const seen = (await app.ask('GET', `${crawlers}`)).body.at(-1);
    expect(seen.domain_verified).toBe(1);
  });

  it('verifies nothing for a credential that was revoked while the host answered', async () => {
    const { at, token: proof, read } = await setting.crawler();
    const { token, revoke } = await revocable(app, ['browse_crawlers', 'manage_crawlers']);
    setting.serve(async (_request, response) => {
      await revoke();
      response.end(proof);
    });
    expect((await app.ask('POST', `${at}/verification/check`, { token, body: { method: 'file' } })).status).toBe(401);
    expect((await read()).verification.state).toBe('pending');
  });

  it('429 for the eleventh within a minute, with the time to wait', async () => {
    const { check, ask } = await setting.crawler();
    app.clock.now = new Date();
    for (let i = 0; i < 10; i++) expect((await check({ method: 'dns' })).state).toBe('failed');
    app.clock.now = new Date(app.clock.now.getTime() + 45_000);
    const over = await ask('POST', '/check', {});
    expectRefusal(over, 429, 'rate_limited', 'Too many checks');
    expect(over.headers.get('retry-after')).toBe('15');
    app.clock.now = new Date(app.clock.now.getTime() + 15_000);
    expect((await check({ method: 'dns' })).state).toBe('failed');
  });

  it('opens what only owners may set, and a new host closes it', async () => {
    const { at, domain, token, check, name } = await setting.crawler();
    const change = (body: object) => app.ask('PATCH', at, { body: { domain, ...body } });
    expect((await change({ workers: 3 })).status).toBe(403);
    setting.pages({ [file]: token });
    await check();
    expect((await change({ workers: 3 })).body.workers).toBe(3);
    const spelt = await change({ domain: `http://WWW.${name}:${setting.port}/` });
    expect(spelt.body.domain_verified).toBe(1);
    const moved = await change({ domain: `new.${name}` });
    expect([moved.body.domain_verified, moved.body.workers]).toEqual([0, 3]);
    expect((await change({ domain: `new.${name}`, workers: 4 })).status).toBe(403);
  });

  it('of an unknown crawler is 404, whatever else is wrong with the body', async () => {
    const answer = await app.ask('POST', `${crawlers}/999999/verification/check`, { body: { method: 'x' } });
    expectRefusal(answer, 404, 'not_found', 'Crawler not found');
    const { ask } = await setting.crawler();
    expectRefusal(await ask('POST', '/check', { method: 'x' }), 400, 'invalid_request', /^method: must be one of/);
  });

  it('leaves an audit row without the token', async () => {
    const { at, token } = await setting.crawler();
    const { body } = await app.ask('GET', `${acme}/audit?action=crawlers.startVerification`);
    expect(body[0]).toMatchObject({ subject_type: 'crawler', subject_id: at.split('/').at(-1) });
    expect(JSON.stringify(body)).not.toContain(token);
  });
});
