import { describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../../support/app.ts';

const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';

const app = shared(startTestApp);

describe('a crawler from before there was a setting', () => {
  it('has the setting as by default, and keeps what it is set to', async () => {
    const { body: made } = await app.ask('POST', crawlers, { body: { domain: 'old.example', urls: ['/a'] } });
    const em = app.services.orm.em.fork();
    await em.execute(`update crawler set settings = (settings::jsonb - 'publish' - 'depth')::json where id = ?`, [
      made.id,
    ]);
    const path = `${crawlers}/${made.uuid}`;
    const usual = { depth: -1, publish: { auto: true, max_lost_percent: 10, max_error_percent: 10 } };
    expect((await app.ask('GET', path)).body).toMatchObject(usual);
    expect((await app.ask('PATCH', path, { body: { domain: 'old.example', depth: 3 } })).status).toBe(200);
    expect((await app.ask('GET', path)).body).toMatchObject({ ...usual, depth: 3, start_urls: [], urls: ['/a'] });
  });
});
