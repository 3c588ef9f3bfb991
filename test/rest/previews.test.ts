import { describe, expect, it } from 'vitest';
import { shared, startTestApp, studio } from '../support/app.ts';
import { makeEnvironment, publish, startPreview } from '../support/preview.ts';

const app = shared(startTestApp);
const preview = shared(() => startPreview(app));
const environment = shared(() => makeEnvironment(app, { slug: 'secret', visibility: 'members' }));
const deployment = shared(() => publish(app, environment, { 'index.html': 'for members', 'a/index.html': 'a' }));

const linkTo = (place: string, token = app.token) => app.ask('GET', `${studio}/${place}`, { token });

describe('GET …/preview', () => {
  it('200 is a link that opens what only members see, and is cached nowhere on its way', async () => {
    const places = [
      [`environments/${environment.id}/preview?path=/a/`, environment.label, '/a/'],
      [`deployments/${deployment.id}/preview`, deployment.label, '/'],
    ] as const;
    for (const [place, label, opened] of places) {
      const { status, headers, body } = await linkTo(place);
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(body).toMatchObject({ expires_at: expect.any(String), embeddable: true });
      const url = new URL(body.url);
      expect([url.hostname, url.pathname]).toEqual([`${label}.localhost`, opened]);
      const exchanged = await preview.ask(label, `${url.pathname}${url.search}`);
      expect([exchanged.status, exchanged.headers.location]).toEqual([303, opened]);
      const cookie = exchanged.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      expect((await preview.ask(label, opened, { headers: { cookie } })).status).toBe(200);
    }
  });

  it('200 is an address without a pass where everybody may look, and null where nothing is shown', async () => {
    const open = await makeEnvironment(app, { slug: 'open', visibility: 'public' });
    expect((await linkTo(`environments/${open.id}/preview`)).body).toBeNull();
    await publish(app, open, { 'index.html': 'for all' });
    const { body } = await linkTo(`environments/${open.id}/preview`);
    expect(body).toMatchObject({ expires_at: null });
    expect(new URL(body.url)).toMatchObject({ hostname: `${open.label}.localhost`, pathname: '/', search: '' });
  });

  it('400 refuses what is no path of a site', async () => {
    for (const path of ['//evil.test', 'https://evil.test', 'a'])
      expect(await linkTo(`environments/${environment.id}/preview?path=${encodeURIComponent(path)}`)).toMatchObject({
        status: 400,
        body: { details: { errors: [{ field: '/path' }] } },
      });
  });

  it('403 without browse_studio', async () => {
    const token = await app.makeToken(['edit_crawlers']);
    expect((await linkTo(`environments/${environment.id}/preview`, token)).status).toBe(403);
    expect((await linkTo(`deployments/${deployment.id}/preview`, token)).status).toBe(403);
  });

  it('404 for what is not in the project', async () => {
    expect((await linkTo('environments/999/preview')).status).toBe(404);
    expect((await linkTo('deployments/999/preview')).status).toBe(404);
  });
});
