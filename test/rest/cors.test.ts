import { describe, expect, it } from 'vitest';
import { acme, shared, startTestApp } from '../support/app.ts';

const origins = ['https://app.example.org', 'http://localhost:3000'];
const app = shared(() => startTestApp({ PORTICO_CORS_ORIGINS: origins.join(', ') }));
const closed = shared(startTestApp);

const preflight = (origin: string) => ({
  token: null,
  headers: {
    Origin: origin,
    'Access-Control-Request-Method': 'PUT',
    'Access-Control-Request-Headers': 'authorization,if-match',
  },
});
const namesOf = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe.each(['/api/v2/organizations', '/graphql'])('a page of an origin that is listed, at %s', (path) => {
  it.each(origins)('has its preflight answered: %s', async (origin) => {
    const { status, headers, body } = await app.ask('OPTIONS', path, preflight(origin));
    expect({ status, body }).toEqual({ status: 204, body: '' });
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE');
    // A star would not stand for Authorization.
    expect(headers.get('access-control-allow-headers')?.split(', ')).toEqual(
      expect.arrayContaining(['Authorization', 'Content-Type', 'If-Match', 'Idempotency-Key', 'Prefer']),
    );
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
  });
});

describe('an answer', () => {
  it.each([
    '/api/v2/organizations',
    `${acme}/studio/raw?path=index.md`,
    '/api/v2/openapi.json',
    '/graphql',
    '/webhooks/none',
    '/healthz',
    '/nothing',
  ])('is not given to a page of another origin as an image or a script: %s', async (path) => {
    const { headers } = await app.ask('GET', path, { headers: { Origin: 'https://preview.example.org' } });
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each(['/', '/api/v2/organizations', '/graphql', '/healthz', '/nothing'])(
    'keeps browsers to https with this host where that is how it is reached: %s',
    async (path) => {
      const { settings } = app.services;
      const { public_url } = settings;
      const name = 'strict-transport-security';
      expect((await app.ask('GET', path)).headers.has(name)).toBe(false);
      settings.public_url = 'https://portico.test';
      try {
        expect((await app.ask('GET', path)).headers.get(name)).toBe('max-age=31536000');
      } finally {
        settings.public_url = public_url;
      }
    },
  );

  it('may be read by the page with the headers of the API, and never with cookies', async () => {
    const { status, headers } = await app.ask('GET', acme, { headers: { Origin: origins[0] ?? '' } });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(origins[0]);
    const exposed = headers.get('access-control-expose-headers')?.split(', ');
    expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Link', 'X-Total-Count', 'Location', 'Retry-After']));
    expect(exposed).not.toContain('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
  });

  it('that refuses can be read as well', async () => {
    const sent = { token: 'wrong', headers: { Origin: origins[0] ?? '' } };
    const { status, headers } = await app.ask('GET', acme, sent);
    expect([status, headers.get('access-control-allow-origin')]).toEqual([401, origins[0]]);
  });

  it.each(['https://evil.example', 'https://app.example.org.evil.example', 'http://app.example.org', 'null'])(
    'says nothing to a page of %s, which is not listed',
    async (origin) => {
      for (const answer of [
        await app.ask('GET', acme, { headers: { Origin: origin } }),
        await app.ask('OPTIONS', '/api/v2/organizations', preflight(origin)),
      ]) {
        expect(namesOf(answer.headers)).toEqual([]);
        expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
      }
    },
  );

  it.each(['/healthz', '/webhooks/ai/workflows/x', '/git/acme/site.git/info/refs?service=git-upload-pack'])(
    'of %s is for no page',
    async (path) => {
      const { headers } = await app.ask('GET', path, { headers: { Origin: origins[0] ?? '' } });
      expect(namesOf(headers)).toEqual([]);
    },
  );

  it('is for no page of another origin without the setting', async () => {
    for (const answer of [
      await closed.ask('GET', acme, { headers: { Origin: origins[0] ?? '' } }),
      await closed.ask('OPTIONS', '/api/v2/organizations', preflight(origins[0] ?? '')),
    ])
      expect(namesOf(answer.headers)).toEqual([]);
  });
});
