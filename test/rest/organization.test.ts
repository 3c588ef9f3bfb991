import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization, updateOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
let reader: string;
beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  reader = await app.makeToken(['browse_organization']);
});

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('200', () => {
  it('gives the documented fields; one without a value is absent', async () => {
    const { status, body } = await app.ask('GET', acme, { token: reader });
    expect(status).toBe(200);
    expect(body).toEqual({ name: 'Acme', machine_name: 'acme', created_at: time, updated_at: time });
  });

  it('shows the limits to those who manage the organisation only', async () => {
    await app.run(updateOrganization, { organization: 'acme', limits: { execution_days: 10 } });
    expect((await app.ask('GET', acme)).body.limits).toEqual({ execution_days: 10 });
    expect((await app.ask('GET', acme, { token: reader })).body).not.toHaveProperty('limits');
  });

  it('changes what is named and leaves the rest', async () => {
    const change = { type: 'agency', region: 'eu', subscription: 'pro' };
    expect((await app.ask('PATCH', acme, { body: change })).body).toMatchObject({ ...change, name: 'Acme' });
    const { status, body } = await app.ask('PATCH', acme, { body: { name: '  Acme Inc.  ' } });
    expect({ status, body }).toMatchObject({ status: 200, body: { ...change, name: 'Acme Inc.' } });
    expect((await app.ask('GET', acme)).body).toMatchObject({ ...change, name: 'Acme Inc.', machine_name: 'acme' });
    await app.ask('PATCH', acme, { body: { name: 'Acme' } });
  });

  it('takes away by empty text what null takes away', async () => {
    const before = (await app.ask('GET', acme)).body;
    const { body: set } = await app.ask('PATCH', acme, { body: { type: 'agency', region: 'eu' } });
    expect(set).toMatchObject({ type: 'agency', region: 'eu' });
    const { status, body } = await app.ask('PATCH', acme, { body: { type: '', region: '' } });
    expect([status, 'type' in body, 'region' in body]).toEqual([200, false, false]);
    const { type = null, region = null } = before;
    await app.ask('PATCH', acme, { body: { type, region } });
  });

  it('takes away what may be absent by null, and nothing else', async () => {
    await app.ask('PATCH', acme, { body: { type: 'agency', region: 'eu', subscription: 'pro' } });
    const { status, body } = await app.ask('PATCH', acme, { body: { type: null, subscription: null } });
    expect({ status, body }).toMatchObject({ status: 200, body: { region: 'eu' } });
    expect(Object.keys((await app.ask('GET', acme)).body)).not.toContain('type');
    expect(Object.keys(body)).not.toContain('subscription');
    expectRefusal(await app.ask('PATCH', acme, { body: { name: null } }), 400, 'invalid_request', /^name: /);
  });

  it('changes nothing when nothing is named', async () => {
    const { updated_at: _before, ...before } = (await app.ask('GET', acme)).body;
    const { status, body } = await app.ask('PATCH', acme, { body: {} });
    expect({ status, body }).toMatchObject({ status: 200, body: before });
    expect((await app.ask('PATCH', acme)).status).toBe(200);
  });

  it('never changes the machine name, and says so', async () => {
    const { status, headers, body } = await app.ask('PATCH', acme, { body: { machine_name: 'other', name: 'Acme' } });
    expect({ status, machine_name: body.machine_name }).toEqual({ status: 200, machine_name: 'acme' });
    expect(headers.get('x-ignored-fields')).toBe('machine_name');
  });

  it('lists the organisations a caller may read, and no other', async () => {
    const { status, headers, body } = await app.ask('GET', '/api/v2/organizations', { token: reader });
    expect({ status, body }).toEqual({ status: 200, body: [{ name: 'Acme', machine_name: 'acme' }] });
    expect(headers.get('x-total-count')).toBe('1');
  });

  it('lists nothing for a token that may not read its organisation', async () => {
    const token = await app.makeToken(['browse_studio']);
    expect((await app.ask('GET', '/api/v2/organizations', { token })).body).toEqual([]);
  });
});

describe('400', () => {
  it.each([
    ['name: must be a string', { name: 1 }],
    ['name: must be a string', { name: null }],
    ['name: must not be empty', { name: '   ' }],
    ['name: must be at most 200 characters', { name: 'x'.repeat(201) }],
    ['name: must not contain control characters', { name: 'a\u0000b' }],
    [
      'name: must not contain characters that turn the direction of text: U+202A to U+202E, U+2066 to U+2069',
      { name: 'a\u202eb' },
    ],
    ['type: must be a string', { type: 1 }],
    ['type: must not be empty', { type: ' ' }],
    ['name: must not be empty', { name: '' }],
    ['type: must not contain control characters', { type: 'a\u0000b' }],
    ['region: must be at most 100 characters', { region: 'x'.repeat(101) }],
    ['region: must not contain control characters', { region: 'a\nb' }],
    ['subscription: must not contain control characters', { subscription: '\u0000' }],
    ['limits: must be an object', { limits: [] }],
    ['limits.execution_days: must be at least 1', { limits: { execution_days: 0 } }],
    ['limits.assistant_days: must be at least 1', { limits: { assistant_days: 0 } }],
    ['limits.assistant_days: must be at most 3650', { limits: { assistant_days: 3651 } }],
    ['limits.crawl_bytes: must be an integer', { limits: { crawl_bytes: 1.5 } }],
  ])('%s', async (message, body) => {
    expectRefusal(await app.ask('PATCH', acme, { body }), 400, 'invalid_request', message);
  });
});

describe('403', () => {
  it('lets no token set limits, which are the instance’s to give', async () => {
    const answer = await app.ask('PATCH', acme, { body: { limits: { crawl_bytes: 1 } } });
    expectRefusal(answer, 403, 'forbidden', /^limits: /);
  });

  it('lets no token make an organisation', async () => {
    const answer = await app.ask('POST', '/api/v2/organizations', { body: { name: 'New' } });
    expectRefusal(answer, 403, 'forbidden', /administrator/);
  });
});
