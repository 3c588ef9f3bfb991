import { describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../../support/app.ts';
import { crawlersApi } from '../../support/crawlers/crawlers-api.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'localhost:8080,trusted.example,*.below.example' }));
const { create, change } = crawlersApi(() => app);

describe('limits on unverified domains', () => {
  const fields = [
    ['workers', 3],
    ['delay', 3.9],
    ['max_hits', 1],
    ['max_html', 499],
    ['ignore_robots', true],
  ] as const;

  it.each(fields)('403: %s %j', async (name, value) => {
    const message = `${name}: a non-default value requires a verified domain`;
    const made = await create({ domain: 'example.com', [name]: value });
    expectRefusal(made, 403, 'verification_required', message);
    expect(made.body.details.errors).toEqual([
      { field: `/${name}`, code: 'verification_required', message: 'a non-default value requires a verified domain' },
    ]);
  });

  it('the first in the documented order, whatever the order of the body', async () => {
    const body = Object.fromEntries([...fields].reverse());
    const answer = await create({ domain: 'example.com', ...body });
    expectRefusal(answer, 403, 'verification_required', /^workers: /);
    expect(answer.body.details.errors).toHaveLength(5);
  });

  it('malformed values are reported first, and defaults may be sent', async () => {
    const bad = await create({ domain: 'example.com', workers: 3, publish: { auto: 1 } });
    expectRefusal(bad, 400, 'invalid_request', 'publish: auto must be a boolean');
    const usual = { workers: 2, delay: 4, max_hits: 0, max_html: 500, ignore_robots: false };
    expect((await create({ domain: 'example.com', ...usual })).status).toBe(200);
    expect((await create({ domain: 'example.com', workers: null, max_html: null })).status).toBe(200);
  });

  it('the host after the change counts', async () => {
    const { uuid } = (await create({ domain: 'trusted.example', workers: 9 })).body;
    expectRefusal(await change(uuid, { domain: 'example.com', workers: 9 }), 403, 'verification_required', /^workers/);
    const moved = await change(uuid, { domain: 'example.com' });
    expect([moved.status, moved.body.workers, moved.body.domain_verified]).toEqual([200, 9, 0]);
    const back = await change(uuid, { domain: 'trusted.example', workers: 10 });
    expect([back.status, back.body.domain_verified]).toEqual([200, 1]);
  });
});
