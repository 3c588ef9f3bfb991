import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../../support/app.ts';

const base = '/api/v2/organizations/acme/projects/site/workflows';
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';
const form = /^whk_[0-9A-Za-z]{46}$/;

const app = shared(startTestApp);
let workflow: string;

const ask = (method: string, path: string, options: object = {}) => app.ask(method, `${base}${path}`, options);
const newWorkflow = async () => {
  workflow = (await ask('POST', '', { body: { name: 'Hooked', definition } })).body.id;
  return workflow;
};
const create = (body: object) => ask('POST', `/${workflow}/triggers`, { body });
const newWebhook = async (body: object = {}) => {
  await newWorkflow();
  const { body: made } = await create({ type: 'webhook', ...body });
  return { id: made.id as string, path: `/${workflow}/triggers/${made.id}` };
};
const rowOf = async (id: string) => {
  const [row] = await app.services.orm.em.fork().execute('select * from workflow_trigger where id = ?', [id]);
  return row as Record<string, unknown>;
};
const reveal = async (path: string) => (await ask('POST', `${path}/reveal`, { body: {} })).body.secret as string;

describe('a webhook trigger', () => {
  it('is made with a secret that no answer but reveal shows', async () => {
    await newWorkflow();
    const { status, body, headers } = await create({ type: 'webhook' });
    expect([status, headers.get('location')]).toEqual([201, `${base}/${workflow}/triggers/${body.id}`]);
    expect(body).toMatchObject({
      type: 'webhook',
      enabled: true,
      auth_mode: 'secret',
      url: `http://portico.test/webhooks/ai/workflows/${workflow}`,
      methods: null,
      rate_limit: null,
      secret_state: 'set',
      secret_version: 1,
      previous_secret_expires_at: null,
      last_delivery_at: null,
      last_refusal: null,
      refusals: [],
      schedule_cron_string: null,
      next_fires: [],
    });
    const path = `/${workflow}/triggers/${body.id}`;
    expect((await ask('GET', path)).body).toEqual(body);
    expect((await ask('GET', `/${workflow}/triggers`)).body).toEqual([body]);
    expect((await ask('GET', `/${workflow}`)).body.webhook_url).toBe(body.url);
    const secret = await reveal(path);
    expect(secret).toMatch(form);
    expect(JSON.stringify([body, await rowOf(body.id)])).not.toContain(secret);
    expect(app.log.join('')).not.toContain(secret);
  });

  it('409 for a second one, until the first is deleted', async () => {
    const { path } = await newWebhook();
    expect(await create({ type: 'webhook' })).toMatchObject({ status: 409, body: { code: 'already_exists' } });
    expect((await ask('DELETE', path)).status).toBe(204);
    expect((await create({ type: 'webhook' })).status).toBe(201);
  });

  it('is changed field by field; null takes a limit away', async () => {
    const { path } = await newWebhook();
    const change = (body: object) => ask('PATCH', path, { body });
    expect((await change({ auth_mode: 'hmac', methods: ['POST', 'PUT'], rate_limit: 60 })).body).toMatchObject({
      auth_mode: 'hmac',
      methods: ['POST', 'PUT'],
      rate_limit: 60,
      enabled: true,
    });
    expect((await change({ methods: null, rate_limit: null, enabled: false })).body).toMatchObject({
      auth_mode: 'hmac',
      methods: null,
      rate_limit: null,
      enabled: false,
    });
  });

  it.each([
    [{ schedule_cron_string: '* * * * *' }, 422, 'schedule_cron_string: is only for triggers of type cron'],
    [{ auth_mode: 'basic' }, 400, /^auth_mode: /],
    [{ methods: [] }, 400, 'methods: must not be empty'],
    [{ methods: ['HEAD'] }, 400, /^methods/],
    [{ rate_limit: 0 }, 400, 'rate_limit: must be an integer from 1 to 1000000'],
    [{ secret: 'mine' }, 201, undefined],
  ])('with %j: %i', async (fields, status, message) => {
    await newWorkflow();
    const { body, ...answer } = await create({ type: 'webhook', ...fields });
    expect(answer.status).toBe(status);
    if (message instanceof RegExp) expect(body.message).toMatch(message);
    else expect(body.message).toBe(message);
  });

  it('loses its ciphertexts when it is deleted', async () => {
    const { id, path } = await newWebhook();
    await ask('POST', `${path}/rotate`, { body: { grace_period_seconds: 60 } });
    expect((await ask('DELETE', path)).status).toBe(204);
    expect((await ask('GET', path)).status).toBe(404);
    expect(await rowOf(id)).toMatchObject({ secret: null, previous_secret: null, deleted_at: expect.anything() });
  });

  it('404 for triggers that are unknown, of another workflow, or no ids', async () => {
    const { id } = await newWebhook();
    await newWorkflow();
    for (const name of [id, randomUUID(), 'x'])
      expect((await ask('GET', `/${workflow}/triggers/${name}`)).body.message).toBe('Trigger not found');
  });
});

describe('its secret', () => {
  it('is revealed without being changed, and nothing may keep the answer', async () => {
    const { path } = await newWebhook({ auth_mode: 'hmac' });
    const { body, headers } = await ask('POST', `${path}/reveal`, { body: {} });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({ secret: expect.stringMatching(form), secret_version: 1, auth_mode: 'hmac' });
    expect(await reveal(path)).toBe(body.secret);
  });

  it('rotates at once, or with a grace', async () => {
    const { path } = await newWebhook();
    const first = await reveal(path);
    const rotated = await ask('POST', `${path}/rotate`, { body: {} });
    expect(rotated.headers.get('cache-control')).toBe('no-store');
    expect(rotated.body).toMatchObject({ secret: expect.stringMatching(form), secret_version: 2, secret_state: 'set' });
    expect(rotated.body.secret).not.toBe(first);
    expect(await reveal(path)).toBe(rotated.body.secret);
    const graced = (await ask('POST', `${path}/rotate`, { body: { grace_period_seconds: 604_800 } })).body;
    expect(graced).toMatchObject({ secret_version: 3, secret_state: 'grace' });
    expect(Date.parse(graced.previous_secret_expires_at) - Date.now()).toBeGreaterThan(604_000_000);
    const ended = (await ask('POST', `${path}/revoke`, { body: { which: 'previous' } })).body;
    expect(ended).toMatchObject({ secret_version: 3, secret_state: 'set', previous_secret_expires_at: null });
  });

  it.each([-1, 604_801, 1.5, '60'])('400 for a grace of %j', async (grace_period_seconds) => {
    const { path } = await newWebhook();
    const { status, body } = await ask('POST', `${path}/rotate`, { body: { grace_period_seconds } });
    expect([status, body.message]).toEqual([400, 'grace_period_seconds: must be an integer from 0 to 604800']);
  });

  it('is revoked altogether until the next rotate', async () => {
    const { path } = await newWebhook();
    expect((await ask('POST', `${path}/revoke`, { body: { which: 'all' } })).body.secret_state).toBe('revoked');
    expect((await ask('POST', `${path}/reveal`, { body: {} })).status).toBe(404);
    expect((await ask('POST', `${path}/rotate`, { body: {} })).body).toMatchObject({
      secret_state: 'set',
      secret_version: 2,
    });
  });

  it('is unreadable when it was copied from another trigger', async () => {
    const other = await newWebhook();
    const { id, path } = await newWebhook();
    const copy = 'update workflow_trigger set secret = (select secret from workflow_trigger where id = ?) where id = ?';
    await app.services.orm.em.fork().execute(copy, [other.id, id]);
    expect((await ask('GET', path)).body.secret_state).toBe('unreadable');
    expect((await ask('POST', `${path}/reveal`, { body: {} })).status).toBe(503);
    expect((await ask('POST', `${path}/rotate`, { body: {} })).body.secret_state).toBe('set');
  });

  it('is shown ten times a minute to one actor, and to another one still', async () => {
    const { path } = await newWebhook();
    const token = await app.makeToken(['manage_workflows']);
    const shown = (given: string) => ask('POST', `${path}/reveal`, { body: {}, token: given });
    for (let time = 0; time < 10; time += 1) expect((await shown(token)).status).toBe(200);
    const refused = await shown(token);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await shown(await app.makeToken(['manage_workflows']))).status).toBe(200);
  });

  it.each(['reveal', 'rotate', 'revoke'])('403 to %s without manage_workflows', async (act) => {
    const { path } = await newWebhook();
    const token = await app.makeToken(['edit_workflows', 'browse_workflows', 'delete_workflows']);
    expect((await ask('POST', `${path}/${act}`, { body: { which: 'all' }, token })).status).toBe(403);
  });

  it('leaves audit rows that do not contain it', async () => {
    const { id, path } = await newWebhook();
    const secret = await reveal(path);
    await ask('POST', `${path}/rotate`, { body: { grace_period_seconds: 5 } });
    await ask('POST', `${path}/revoke`, { body: { which: 'all' } });
    await ask('DELETE', path);
    const rows = await app.services.orm.em
      .fork()
      .execute('select action, changes from audit where subject_id = ? order by id', [id]);
    expect(rows.map(({ action }) => action)).toEqual([
      'workflows.createTrigger',
      'workflows.revealTriggerSecret',
      'workflows.rotateTriggerSecret',
      'workflows.revokeTriggerSecret',
      'workflows.deleteTrigger',
    ]);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

describe('a cron trigger', () => {
  const hourly = { type: 'cron', schedule_cron_string: '0 * * * *' };

  it('lists its next five fires, none while it is off', async () => {
    await newWorkflow();
    const { status, body } = await create({ ...hourly, timezone: 'Europe/Berlin' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ type: 'cron', url: null, secret_state: null, timezone: 'Europe/Berlin' });
    expect(body.next_fires).toHaveLength(5);
    const path = `/${workflow}/triggers/${body.id}`;
    const off = await ask('PATCH', path, { body: { enabled: false, timezone: null } });
    expect(off.body).toMatchObject({ next_fires: [], timezone: 'UTC', schedule_cron_string: '0 * * * *' });
    expect((await rowOf(body.id)).next_fire_at).toBeNull();
    expect((await ask('POST', `${path}/reveal`, { body: {} })).status).toBe(404);
  });

  it('at most ten', async () => {
    await newWorkflow();
    for (let count = 0; count < 10; count += 1) expect((await create(hourly)).status).toBe(201);
    expect(await create(hourly)).toMatchObject({ status: 409, body: { code: 'limit_reached' } });
    expect((await create({ type: 'webhook' })).status).toBe(201);
  });

  it.each([
    [{}, 422, /^schedule_cron_string: is required/],
    [{ schedule_cron_string: '61 * * * *' }, 400, /^schedule_cron_string: /],
    [{ schedule_cron_string: '0 * * * *', timezone: 'Mars/Base' }, 400, /^timezone: /],
    [{ schedule_cron_string: '0 * * * *', auth_mode: 'hmac' }, 422, /^auth_mode: is only/],
  ])('with %j: %i', async (fields, status, message) => {
    await newWorkflow();
    const { body, ...answer } = await create({ type: 'cron', ...fields });
    expect(answer.status).toBe(status);
    expect(body.message).toMatch(message);
  });
});
