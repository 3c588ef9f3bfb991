import { afterEach, describe, expect, it } from 'vitest';
import { authenticateToken } from '../../src/domain/identity/authenticate.ts';
import { revokeToken } from '../../src/domain/identity/tokens.operations.ts';
import {
  getDeploymentPreview,
  getEnvironmentPreview,
} from '../../src/domain/studio/previews/preview-link.operations.ts';
import { systemActor } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { shared, startTestApp } from '../support/app.ts';
import { type Browser, makePerson, signedIn } from '../support/browser.ts';
import { makeEnvironment, publish, startPreview } from '../support/preview.ts';

const app = shared(startTestApp);
const preview = shared(() => startPreview(app));
const environment = shared(() => makeEnvironment(app, { slug: 'secret', visibility: 'members' }));
const deployment = shared(() => publish(app, environment, { 'index.html': 'for members', 'a/index.html': 'a' }));

afterEach(() => {
  app.clock.now = null;
});

interface Link {
  url: string;
  expires_at: string | null;
  embeddable: boolean;
}

async function link(input: object = { environment: environment.id }, token = app.token): Promise<Link> {
  const call = systemCall(app.services, systemActor('none', [], 'portico.test'));
  const actor = await authenticateToken(app.services, token);
  const operation: AnyOperation = 'deployment' in input ? getDeploymentPreview : getEnvironmentPreview;
  return (await run(operation, { ...call, actor }, { organization: 'acme', project: 'site', ...input })) as Link;
}

const targetOf = ({ url }: Link) => url.slice(new URL(url).origin.length);
/** What a browser would send back. */
const cookieOf = (setCookie: string[] | undefined) => ({ cookie: setCookie?.[0]?.split(';')[0] ?? '' });

/** Opens a link. @returns the cookie it was exchanged for */
async function open(given: Link, label = environment.label): Promise<{ cookie: string }> {
  const { headers } = await preview.ask(label, targetOf(given));
  return cookieOf(headers['set-cookie']);
}
const statusWith = async (headers: { cookie: string }, label = environment.label) =>
  (await preview.ask(label, '/', { headers })).status;

describe('a preview of a site that sets headers of its server', () => {
  // What hosts read of what was built, or of the repository.
  const strict = "default-src 'none'; frame-ancestors 'none'";
  const settings = {
    _headers: `/*\n  Content-Security-Policy: ${strict}\n  X-Frame-Options: DENY\n  Set-Cookie: a=b\n`,
    '.htaccess': `Header set Content-Security-Policy "${strict}"\nHeader set X-Frame-Options DENY\n`,
    'vercel.json': JSON.stringify({
      headers: [{ source: '/(.*)', headers: [{ key: 'X-Frame-Options', value: 'DENY' }] }],
    }),
    'netlify.toml': '[[headers]]\nfor = "/*"\n[headers.values]\nX-Frame-Options = "DENY"\n',
    'staticwebapp.config.json': JSON.stringify({ globalHeaders: { 'X-Frame-Options': 'DENY' } }),
  };

  it('sends its own headers alone, so that the dashboard frames it', async () => {
    const strictSite = await makeEnvironment(app, { slug: 'strict', visibility: 'members' });
    const { label } = await publish(app, strictSite, { 'index.html': 'framed', ...settings });
    for (const [at, input] of [
      [strictSite.label, { environment: strictSite.id }],
      [label, { deployment: Number(label.replace('d--', '')) }],
    ] as const) {
      const cookie = await open(await link(input), at);
      const { status, headers, text } = await preview.ask(at, '/', { headers: cookie });
      expect([status, text]).toEqual([200, 'framed']);
      expect(headers['content-security-policy']).toBe(
        `frame-ancestors ${new URL(app.services.settings.public_url).origin}`,
      );
      for (const name of ['x-frame-options', 'set-cookie', 'content-security-policy-report-only'])
        expect(headers[name]).toBeUndefined();
    }
  });

  it('leaves frames to all where it is public', async () => {
    const open = await makeEnvironment(app, { slug: 'open-strict' });
    await publish(app, open, { 'index.html': 'framed', ...settings });
    const { status, headers } = await preview.ask(open.label, '/');
    expect(status).toBe(200);
    for (const name of ['content-security-policy', 'x-frame-options', 'set-cookie'])
      expect(headers[name]).toBeUndefined();
  });
});

describe('a members’ preview', () => {
  it('is closed to everybody else', async () => {
    for (const headers of [{}, { cookie: '__Host-portico-preview=x.y' }, { authorization: `Bearer ${app.token}` }]) {
      const {
        status,
        text,
        headers: given,
      } = await preview.ask(environment.label, '/', { headers: headers as Record<string, string> });
      expect(status).toBe(403);
      expect(text).toContain('For members');
      expect(text).not.toContain('for members');
      expect(given['cache-control']).toBe('no-store');
    }
    expect((await preview.ask(environment.label, '/nowhere')).status).toBe(403);
  });

  it('is opened by a link, which becomes a cookie of this host alone', async () => {
    const given = await link({ environment: environment.id, path: '/a/?x=1&y=2' });
    expect(
      given.url.startsWith(`http://${environment.label}.localhost:${preview.port}/a/?x=1&y=2&portico_preview=`),
    ).toBe(true);
    expect(given.embeddable).toBe(true);
    const { status, headers } = await preview.ask(environment.label, targetOf(given));
    expect([status, headers.location, headers['cache-control'], headers['referrer-policy']]).toEqual([
      303,
      '/a/?x=1&y=2',
      'no-store',
      'no-referrer',
    ]);
    expect(headers['set-cookie']?.[0]).toMatch(
      /^__Host-portico-preview=[\w-]+\.[\w-]+; HttpOnly; Secure; SameSite=None; Partitioned; Path=\/; Max-Age=28800$/,
    );
    const page = await preview.ask(environment.label, '/a/', { headers: cookieOf(headers['set-cookie']) });
    expect([page.status, page.text]).toEqual([200, 'a']);
    expect(page.headers).toMatchObject({
      'cache-control': 'private, no-cache',
      'content-security-policy': 'frame-ancestors http://portico.test',
      'cross-origin-resource-policy': 'same-origin',
      'x-robots-tag': 'noindex',
    });
  });

  it('takes a link for one minute', async () => {
    const given = await link();
    const made = Date.parse(given.expires_at ?? '') - 60_000;
    app.clock.now = new Date(made + 59_000);
    expect((await preview.ask(environment.label, targetOf(given))).status).toBe(303);
    app.clock.now = new Date(made);
    const late = await link();
    app.clock.now = new Date(made + 60_001);
    expect((await preview.ask(environment.label, targetOf(late))).status).toBe(403);
    expect((await preview.ask(environment.label, targetOf(given))).status).toBe(410);
  });

  it('stays open for eight hours', async () => {
    app.clock.now = new Date('2026-11-21T08:00:00Z');
    const cookie = await open(await link());
    app.clock.now = new Date('2026-11-21T15:59:59Z');
    expect(await statusWith(cookie)).toBe(200);
    app.clock.now = new Date('2026-11-21T16:00:01Z');
    expect(await statusWith(cookie)).toBe(403);
  });

  it('takes neither the link nor the cookie of another host, nor one for the other', async () => {
    const other = await makeEnvironment(app, { slug: 'other', visibility: 'members' });
    await publish(app, other, { 'index.html': 'other' });
    const given = await link();
    expect((await preview.ask(other.label, targetOf(given))).status).toBe(403);
    const cookie = await open(given);
    expect(await statusWith(cookie)).toBe(200);
    expect(await statusWith(cookie, other.label)).toBe(403);
    const linkPass = new URL(given.url).searchParams.get('portico_preview');
    expect(await statusWith({ cookie: `__Host-portico-preview=${linkPass}` })).toBe(403);
    const cookiePass = cookie.cookie.split('=')[1];
    expect((await preview.ask(environment.label, `/?portico_preview=${cookiePass}`)).status).toBe(403);
  });

  it('takes no pass that was changed in a single character', async () => {
    const { cookie } = await open(await link());
    const start = cookie.indexOf('=') + 1;
    for (let at = start; at < cookie.length; at += 7) {
      const changed = `${cookie.slice(0, at)}${cookie[at] === 'A' ? 'B' : 'A'}${cookie.slice(at + 1)}`;
      expect(await statusWith({ cookie: changed })).toBe(403);
    }
    for (const odd of ['', '.', 'a', 'a.b.c', `${cookie.slice(start)}.x`, '%00', 'e30.e30'])
      expect(await statusWith({ cookie: `__Host-portico-preview=${odd}` })).toBe(403);
  });

  it('closes when the token it was opened with ends', async () => {
    const token = await app.makeToken(['browse_studio']);
    const cookie = await open(await link(undefined, token));
    expect(await statusWith(cookie)).toBe(200);
    const [row] = (await app.services.orm.em.fork().execute('select max(id) as id from token')) as { id: number }[];
    await app.run(revokeToken, { organization: 'acme', token_id: String(row?.id) });
    expect(await statusWith(cookie)).toBe(403);
  });

  it('is linked to only for those who may read the project, and can be requested again', async () => {
    const denied = await app.makeToken(['edit_studio']);
    await expect(link(undefined, denied)).rejects.toMatchObject({ code: 'forbidden' });
    const call = systemCall(app.services, systemActor('job', ['browse_studio'], 'portico.test'));
    const input = { organization: 'acme', project: 'site', environment: environment.id };
    await expect(run(getEnvironmentPreview, call, input)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('never redirects to another site after a link', async () => {
    const pass = new URL((await link()).url).searchParams.get('portico_preview');
    for (const target of ['//evil.test/', '/\\evil.test/', 'http://evil.test/', '/%2f/evil.test/']) {
      const { status, headers } = await preview.ask(environment.label, `${target}?portico_preview=${pass}`);
      expect([status, headers.location]).toEqual([403, undefined]);
    }
  });
});

describe('one deployment', () => {
  it('has a host of its own, for members even where its environment is public', async () => {
    const open_ = await makeEnvironment(app, { slug: 'open' });
    const { id, label } = await publish(app, open_, { 'index.html': 'first' });
    await publish(app, open_, { 'index.html': 'second' });
    expect((await preview.ask(open_.label, '/')).text).toBe('second');
    expect((await preview.ask(label, '/')).status).toBe(403);
    const cookie = await open(await link({ deployment: id }), label);
    expect((await preview.ask(label, '/', { headers: cookie })).text).toBe('first');
    expect(await statusWith(cookie, deployment.label)).toBe(403);
  });
});

describe('a link', () => {
  it('is a plain address where everybody may look', async () => {
    const open_ = await makeEnvironment(app, { slug: 'plain' });
    expect(await link({ environment: open_.id })).toBeNull();
    await publish(app, open_, { 'index.html': 'x' });
    expect(await link({ environment: open_.id, path: '/x' })).toEqual({
      url: `http://${open_.label}.localhost:${preview.port}/x`,
      expires_at: null,
      embeddable: true,
    });
  });

  it.each([
    [{}, 'invalid_request'],
    [{ environment: 999_999 }, 'not_found'],
    [{ deployment: 999_999 }, 'not_found'],
    [{ environment: 1, path: '//evil.test' }, 'invalid_path'],
    [{ environment: 1, path: 'https://evil.test' }, 'invalid_path'],
    [{ environment: 1, path: `/${'x'.repeat(8192)}` }, 'invalid_request'],
  ])('for %j is refused: %s', async (input, code) => {
    await expect(link(input)).rejects.toMatchObject({ code });
  });

  it('leads to nothing of another project', async () => {
    const { createProject } = await import('../../src/domain/projects/projects.operations.ts');
    await app.run(createProject, { organization: 'acme', name: 'Two', machine_name: 'two' });
    const elsewhere = await makeEnvironment(app, { slug: 'elsewhere', project: 'two' });
    await expect(link({ environment: elsewhere.id })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('on plain http outside localhost', () => {
  it('the cookie is one such browsers take, and the preview is not for frames', async () => {
    const form = app.services.settings.preview_url;
    const plain = await startPreview(app, 'http://*.previews.test');
    try {
      const given = await link();
      expect(given.embeddable).toBe(false);
      const { headers } = await plain.ask(environment.label, targetOf(given));
      expect(headers['set-cookie']?.[0]).toMatch(
        /^portico-preview=[\w-]+\.[\w-]+; HttpOnly; SameSite=Lax; Path=\/; Max-Age=28800$/,
      );
      expect((await plain.ask(environment.label, '/', { headers: cookieOf(headers['set-cookie']) })).status).toBe(200);
    } finally {
      await plain.stop();
      app.services.settings.preview_url = form;
    }
  });
});

describe('a preview that a person has opened from a session', () => {
  async function opened(browser: Browser): Promise<{ cookie: string; unused: string }> {
    const urls: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const at = `/api/v2/organizations/acme/projects/site/studio/environments/${environment.id}/preview`;
      urls.push((await browser.ask('GET', at)).body.url);
    }
    const [first = '', second = ''] = urls;
    return { ...(await open({ url: first, expires_at: null, embeddable: true })), unused: second };
  }

  it('ends with that session, however it ends, and not with another', async () => {
    const person = await makePerson(app, { email: 'viewer@portico.test', role: 'editor' });
    const [browser, other] = [await signedIn(app, person), await signedIn(app, person)];
    const [ofBrowser, ofOther] = [await opened(browser), await opened(other)];
    expect([await statusWith(ofBrowser), await statusWith(ofOther)]).toEqual([200, 200]);
    await browser.graphql('mutation { signOut { message } }');
    await expect.poll(() => statusWith(ofBrowser)).not.toBe(200);
    expect(await statusWith(ofOther)).toBe(200);
    const late = await preview.ask(
      environment.label,
      targetOf({ url: ofBrowser.unused, expires_at: null, embeddable: true }),
    );
    expect(late.headers['set-cookie']).toBeUndefined();
  });
});
