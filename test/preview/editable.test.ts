import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticateToken } from '../../src/domain/identity/authenticate.ts';
import { getDeploymentEditor, getDeploymentPreview } from '../../src/domain/studio/previews/preview-link.operations.ts';
import { systemActor } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import { scriptPlace } from '../../src/preview/send-file.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { startTestApp, studio, type TestApp } from '../support/app.ts';
import { makeEnvironment, publish, startPreview, type TestPreview } from '../support/preview.ts';
import { expectRefusal } from '../support/refusal.ts';

describe('scriptPlace', () => {
  it.each([
    ['<!doctype html><html>', '<!doctype html>'],
    [
      '\n <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">\n<p>',
      '\n <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">',
    ],
    ['<!-- <head> --><!doctype html><p>', '<!-- <head> --><!doctype html>'],
    ['<?xml version="1.0"?>\n<!doctype html><p>', '<?xml version="1.0"?>\n<!doctype html>'],
    ['<html><!doctype html>', ''],
    ['<!--><!doctype html><p>-->', '<!--><!doctype html>'],
    ['<!-- never closed', ''],
    ['', ''],
  ])('puts the script behind the doctype of %j', (html, before) => {
    expect(scriptPlace(Buffer.from(html))).toBe(Buffer.byteLength(before));
  });

  it('keeps a byte order mark in front, and leaves UTF-16 alone', () => {
    expect(scriptPlace(Buffer.from('\ufeff<!doctype html><p>'))).toBe(18);
    expect(scriptPlace(Buffer.from('\ufeff<!doctype html>', 'utf16le'))).toBeNull();
  });
});

describe('a page of a deployment', () => {
  let app: TestApp;
  let preview: TestPreview;
  let directory: string;
  let label: string;
  let deployment: number;
  const large = `<!doctype html>${' '.repeat(4 * 1024 * 1024)}`;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'portico-script-'));
    await mkdir(path.join(directory, 'in-page'));
    await writeFile(path.join(directory, 'in-page/in-page.js'), 'begin()');
    app = await startTestApp();
    preview = await startPreview(app, 'http://*.localhost', directory);
    const environment = await makeEnvironment(app, { slug: 'live' });
    ({ id: deployment, label } = await publish(app, environment, {
      'index.html': '<!doctype html><title>Start</title>',
      'a.css': 'a {}',
      'fits.html': large.slice(0, 4 * 1024 * 1024),
      'large.html': large,
      'sw.js': 'self',
    }));
  });
  afterAll(async () => {
    await preview.stop();
    await app.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** The cookie that a link is exchanged for. */
  async function open(operation: AnyOperation, token = app.token): Promise<{ cookie: string }> {
    const call = systemCall(app.services, systemActor('none', [], 'portico.test'));
    const actor = await authenticateToken(app.services, token);
    const link = (await run(operation, { ...call, actor }, { organization: 'acme', project: 'site', deployment })) as {
      url: string;
    };
    const { headers } = await preview.ask(label, link.url.slice(new URL(link.url).origin.length));
    return { cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
  }
  const script = '<script data-origin="http://portico.test">begin()</script>';

  it('has the script when it was opened for editing, and is as it was built otherwise', async () => {
    const headers = await open(getDeploymentEditor);
    const page = await preview.ask(label, '/', { headers });
    expect(page.text).toBe(`<!doctype html>${script}<title>Start</title>`);
    expect(page.headers['cache-control']).toBe('no-store');
    expect(page.headers.etag).toBeUndefined();
    expect((await preview.ask(label, '/', { headers, method: 'HEAD' })).headers['content-length']).toBe(
      String(page.body.length),
    );
    expect((await preview.ask(label, '/a.css', { headers })).text).toBe('a {}');
    const seen = await preview.ask(label, '/', { headers: await open(getDeploymentPreview) });
    expect(seen.text).toBe('<!doctype html><title>Start</title>');
  });

  it('has the script up to 4 MiB', async () => {
    const headers = await open(getDeploymentEditor);
    expect((await preview.ask(label, '/fits', { headers })).text).toContain(script);
    expect((await preview.ask(label, '/large', { headers })).text).toBe(large);
  });

  it('gets no service worker while it is edited', async () => {
    const headers = await open(getDeploymentEditor);
    expect((await preview.ask(label, '/sw.js', { headers })).status).toBe(200);
    expect((await preview.ask(label, '/sw.js', { headers: { ...headers, 'service-worker': 'script' } })).status).toBe(
      404,
    );
  });

  it('is opened for editing only with edit_studio, and only while its holder may see it', async () => {
    const reader = await app.makeToken(['browse_studio']);
    const at = `${studio}/deployments/${deployment}/editor`;
    expectRefusal(await app.ask('GET', at, { token: reader }), 403, 'forbidden', /edit_studio/);
    expect((await app.ask('GET', at)).body).toMatchObject({ embeddable: true });
    expectRefusal(await app.ask('GET', `${at}?path=x`), 400, 'invalid_path', /must be a path such as/);
    const editor = await app.makeToken(['browse_studio', 'edit_studio']);
    const headers = await open(getDeploymentEditor, editor);
    expect((await preview.ask(label, '/', { headers })).text).toContain(script);
    const em = app.services.orm.em.fork();
    const keep = (...permissions: string[]) =>
      em.execute('update token set permissions = ? where id = (select max(id) from token)', [
        JSON.stringify(permissions),
      ]);
    await keep('browse_studio');
    expect((await preview.ask(label, '/', { headers })).text).toBe('<!doctype html><title>Start</title>');
    await keep('edit_studio');
    expect((await preview.ask(label, '/', { headers })).status).toBe(403);
  });
});
