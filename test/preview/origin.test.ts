import { afterEach, describe, expect, it } from 'vitest';
import { listen } from '../../src/db/listener.ts';
import { Environment } from '../../src/domain/studio/environments/environment.entity.ts';
import { updateEnvironment } from '../../src/domain/studio/environments/environments.operations.ts';
import { previewChannel } from '../../src/domain/studio/previews/previews.ts';
import { shared, startTestApp } from '../support/app.ts';
import { askHost, makeEnvironment, publish, startPreview } from '../support/preview.ts';

const app = shared(startTestApp);
const preview = shared(() => startPreview(app));

afterEach(() => {
  app.clock.now = null;
});

/** A published environment. */
async function site(slug: string, files: Record<string, string>) {
  const environment = await makeEnvironment(app, { slug });
  const deployment = await publish(app, environment, files);
  return { ...environment, deployment };
}

describe('the preview origin', () => {
  it('answers its bare host with a page of its own, whatever is requested and sent', async () => {
    for (const target of ['/', '/api/v2/organizations', '/graphql']) {
      const { status, text, headers } = await preview.ask('', target, {
        headers: { cookie: '__Host-portico-preview=x' },
      });
      expect([status, headers['set-cookie']]).toEqual([200, undefined]);
      expect(text).toContain('Previews live here');
      expect(headers['content-security-policy']).toContain("default-src 'none'");
    }
  });

  it('serves no other host', async () => {
    const { label } = await site('known', { 'index.html': 'x' });
    const { port } = preview;
    for (const host of [
      '127.0.0.1',
      'example.com',
      `${label}.example.com`,
      `a.${label}.localhost`,
      '.localhost',
      `${label}-localhost`,
    ])
      expect([host, (await askHost(port, host, '/')).status]).toEqual([host, 404]);
    for (const host of [`${label}.localhost`, `${label.toUpperCase()}.LOCALHOST:${port}`, `${label}.localhost.:1`])
      expect([host, (await askHost(port, host, '/')).status]).toEqual([host, 200]);
  });

  it('serves no unknown label', async () => {
    const { label, deployment } = await site('one', { 'index.html': 'x' });
    const [, end] = /-([0-9a-f]{8})$/.exec(label) ?? [];
    for (const other of [
      `two-${end}`,
      `one-00000000`,
      end ?? '',
      `d--${deployment.id + 1000}`,
      'd--0',
      `d--0${deployment.id}`,
      'd--1e3',
      'd--99999999999',
    ])
      expect([other, (await preview.ask(other, '/')).status]).toEqual([other, 404]);
  });

  it('cuts long slugs in labels, and serves them', async () => {
    const { label } = await site('a'.repeat(63), { 'index.html': 'long' });
    expect(label).toMatch(/^a{50}-[0-9a-f]{8}$/);
    expect((await preview.ask(label, '/')).text).toBe('long');
  });

  it('refuses every method that writes', async () => {
    const { label } = await site('readonly', { 'index.html': 'x' });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const { status, headers } = await preview.ask(label, '/', { method });
      expect([method, status, headers.allow]).toEqual([method, 405, 'GET, HEAD']);
    }
  });

  it('reaches nothing of the API, nor the API anything of it', async () => {
    const { label } = await site('apart', { 'index.html': 'the very page', 'health/live': 'the very page' });
    const authorization = { authorization: `Bearer ${app.token}` };
    for (const target of [
      '/api/v2/organizations',
      '/graphql?query={me{id}}',
      '/healthz',
      '/git/acme/site.git/info/refs',
    ])
      expect([target, (await preview.ask(label, target, { headers: authorization })).status]).toEqual([target, 404]);
    const { port } = new URL(app.url);
    for (const target of ['/', '/index.html', '/health/live']) {
      const answer = await askHost(Number(port), `${label}.localhost:${preview.port}`, target);
      expect(answer.text).not.toContain('the very page');
    }
  });

  it('says when nothing is published, or its files are gone', async () => {
    const { label } = await makeEnvironment(app, { slug: 'empty' });
    expect((await preview.ask(label, '/')).text).toContain('Nothing published yet');
    const lost = await site('lost', { 'index.html': 'soon gone' });
    await app.services.blobs.sweep(new Set(), new Date(Date.now() + 60_000));
    const { status, text } = await preview.ask(lost.label, '/');
    expect([status, text.includes('Nothing published yet')]).toEqual([404, true]);
  });

  it('ends with its environment and its project', async () => {
    const { id, label } = await site('ends', { 'index.html': 'x' });
    await app.services.orm.em.fork().execute('update project set deleted_at = now()');
    expect((await preview.ask(label, '/')).status).toBe(404);
    await app.services.orm.em.fork().execute('update project set deleted_at = null');
    expect((await preview.ask(label, '/')).status).toBe(200);
    await app.services.orm.em.fork().nativeDelete(Environment, { id });
    expect((await preview.ask(label, '/')).status).toBe(404);
  });
});

describe('after a publish', () => {
  it('the next request is served the new output, and open pages find old assets for ten minutes', async () => {
    const first = { 'index.html': 'one', 'assets/a-1.js': 'a1', 'gone.html': 'gone', 'assets/same.js': 'old' };
    const { id, label } = await site('swap', first);
    await publish(app, { id }, { 'index.html': 'two', 'assets/a-2.js': 'a2', 'assets/same.js': 'new' });
    const text = async (target: string) => (await preview.ask(label, target)).text;
    expect([await text('/'), await text('/assets/a-2.js'), await text('/assets/same.js')]).toEqual([
      'two',
      'a2',
      'new',
    ]);
    expect(await text('/assets/a-1.js')).toBe('a1');
    expect((await preview.ask(label, '/gone')).status).toBe(404);
    const swapped = Date.now();
    app.clock.now = new Date(swapped + 9 * 60_000);
    expect(await text('/assets/a-1.js')).toBe('a1');
    app.clock.now = new Date(swapped + 10 * 60_000 + 1000);
    expect((await preview.ask(label, '/assets/a-1.js')).status).toBe(404);
  });

  it('a roll back serves the output from before', async () => {
    const { id, label, deployment } = await site('back', { 'index.html': 'one' });
    await publish(app, { id }, { 'index.html': 'two' });
    expect((await preview.ask(label, '/')).text).toBe('two');
    const em = app.services.orm.em.fork();
    await em.nativeUpdate(Environment, { id }, { published_deployment_id: deployment.id });
    expect((await preview.ask(label, '/')).text).toBe('one');
  });

  it('a command’s own process is up to date before any notification arrives', async () => {
    const { targets } = app.services.studio.previews;
    const { id, label } = await site('own', { 'index.html': 'x' });
    targets.setListening(true);
    try {
      expect((await preview.ask(label, '/')).status).toBe(200);
      await app.run(updateEnvironment, {
        organization: 'acme',
        project: 'site',
        environment: id,
        visibility: 'members',
      });
      expect((await preview.ask(label, '/')).status).toBe(403);
    } finally {
      targets.setListening(false);
    }
  });

  it('a process that caches labels is notified of it, and queries each time while it is disconnected', async () => {
    const { targets } = app.services.studio.previews;
    const { id, label } = await site('heard', { 'index.html': 'one' });
    let notify = () => {};
    const listener = listen({
      url: String(app.services.orm.config.get('clientUrl')),
      log: app.services.log,
      channels: {
        [previewChannel]: () => {
          targets.forget();
          notify();
        },
      },
      onState: (isListening) => targets.setListening(isListening),
    });
    try {
      await listener.ready;
      const known = await targets.get(label);
      expect(await targets.get(label)).toBe(known);
      const notified = new Promise<void>((resolve) => {
        notify = resolve;
      });
      await publish(app, { id }, { 'index.html': 'two' });
      await notified;
      expect((await preview.ask(label, '/')).text).toBe('two');
    } finally {
      await listener.close();
    }
    const known = await targets.get(label);
    expect(await targets.get(label)).not.toBe(known);
  });
});
