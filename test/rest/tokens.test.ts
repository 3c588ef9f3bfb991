import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
beforeAll(() => app.run(createOrganization, { name: 'Other', machine_name: 'other' }));

const tokens = `${acme}/tokens`;
const make = (body: object, token = app.token) => app.ask('POST', tokens, { token, body });

describe('201', () => {
  it('answers the token once, with what it grants', async () => {
    app.clock.now = new Date('2026-05-01T00:00:00Z');
    const { status, headers, body } = await make({
      name: 'CI',
      permissions: ['browse_studio', 'browse_studio'],
      projects: ['site'],
    });
    app.clock.now = null;
    expect(status).toBe(201);
    expect(body).toEqual({
      mcp: { publish: false, all_operations: false },
      token: expect.stringMatching(/^ptc_[0-9A-Za-z]{36}$/),
      id: expect.any(Number),
      name: 'CI',
      permissions: ['browse_studio'],
      projects: ['site'],
      preset: null,
      created_at: '2026-05-01T00:00:00.000Z',
      expires_at: '2026-07-30T00:00:00.000Z',
    });
    expect(headers.get('cache-control')).toContain('private');
  });

  it.each([
    ['30d', 30],
    ['365d', 365],
    ['never', null],
  ])('lives %s', async (expires_in, days) => {
    app.clock.now = new Date('2026-05-01T00:00:00Z');
    const { body } = await make({ name: 'T', preset: 'readonly', expires_in });
    expect(body.expires_at).toBe(days === null ? null : new Date(app.clock.now.getTime() + days * 864e5).toISOString());
    app.clock.now = null;
  });

  it('copies a preset', async () => {
    const { body } = await make({ name: 'Editor', preset: 'editor' });
    expect(body.preset).toBe('editor');
    expect(body.permissions.sort()).toEqual(permissionNames.filter((name) => !name.startsWith('manage')).sort());
  });

  it('never repeats a secret for an idempotency key', async () => {
    const ask = () =>
      app.ask('POST', tokens, { body: { name: 'K', preset: 'readonly' }, headers: { 'Idempotency-Key': 'k' } });
    const [first, second] = [await ask(), await ask()];
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(second.body.token).not.toBe(first.body.token);
  });
});

describe('200', () => {
  it('lists without secrets, newest first', async () => {
    const made = (await make({ name: 'Newest', preset: 'readonly' })).body;
    const { status, body } = await app.ask('GET', `${tokens}?per_page=1`);
    expect(status).toBe(200);
    const { token, ...known } = made;
    expect(body).toEqual([
      {
        ...known,
        last4: token.slice(-4),
        last_used: null,
        created_by: expect.stringMatching(/^token:\d+$/),
        created_by_name: 'Test',
      },
    ]);
    expect(JSON.stringify((await app.ask('GET', `${tokens}?per_page=100`)).body)).not.toMatch(/ptc_|hash/);
  });

  it('notes the last use', async () => {
    const { token, id } = (await make({ name: 'Used', permissions: ['browse_organization'] })).body;
    await app.ask('GET', acme, { token });
    await expect
      .poll(async () => (await app.ask('GET', tokens)).body.find((item: { id: number }) => item.id === id).last_used)
      .toMatch(/Z$/);
  });

  it('revokes at once', async () => {
    const { token, id } = (await make({ name: 'Doomed', permissions: ['browse_organization'] })).body;
    expect((await app.ask('GET', acme, { token })).status).toBe(200);
    const { status, body } = await app.ask('DELETE', `${tokens}/${id}`);
    expect({ status, body }).toEqual({ status: 200, body: { message: 'Token revoked' } });
    expectRefusal(await app.ask('GET', acme, { token }), 401, 'unauthenticated', 'Unauthenticated');
    expectRefusal(await app.ask('DELETE', `${tokens}/${id}`), 404, 'not_found', 'Token not found');
    expect((await app.ask('GET', `${tokens}?per_page=100`)).body.some((item: { id: number }) => item.id === id)).toBe(
      false,
    );
  });

  it('lets a token revoke itself', async () => {
    const { token, id } = (await make({ name: 'Self', permissions: ['manage_organization'] })).body;
    expect((await app.ask('DELETE', `${tokens}/${id}`, { token })).status).toBe(200);
    expect((await app.ask('GET', tokens, { token })).status).toBe(401);
  });
});

describe('400', () => {
  it.each([
    ['name: is required', { preset: 'readonly' }],
    ['name: must not be empty', { name: ' ', preset: 'readonly' }],
    ['permissions: is required, or a preset', { name: 'T' }],
    [
      'permissions: excludes preset; give one of the two',
      { name: 'T', preset: 'readonly', permissions: ['browse_studio'] },
    ],
    ['permissions: must name at least one permission', { name: 'T', permissions: [] }],
    [/^permissions\.0: must be one of /, { name: 'T', permissions: ['everything'] }],
    [/^permissions\.0: must be one of /, { name: 'T', permissions: ['instance_admin'] }],
    [/^permissions\.0: must be one of /, { name: 'T', permissions: [null] }],
    [/^preset: must be one of /, { name: 'T', preset: 'root' }],
    ['projects: must name at least one project, or be absent', { name: 'T', preset: 'readonly', projects: [] }],
    [
      'projects: other-site is not a project of this organisation',
      { name: 'T', preset: 'readonly', projects: ['other-site'] },
    ],
    [/^projects\.0: must be 1 to 63/, { name: 'T', preset: 'readonly', projects: ['a\u0000b'] }],
    [/^expires_in: must be one of /, { name: 'T', preset: 'readonly', expires_in: '1d' }],
  ])('%s', async (message, body) => {
    expectRefusal(await make(body), 400, 'invalid_request', message);
  });
});

describe('401', () => {
  it('after the token expired, to the millisecond', async () => {
    const { token, expires_at } = (
      await make({ name: 'Short', permissions: ['browse_organization'], expires_in: '30d' })
    ).body;
    app.clock.now = new Date(Date.parse(expires_at) - 1);
    expect((await app.ask('GET', acme, { token })).status).toBe(200);
    app.clock.now = new Date(expires_at);
    expectRefusal(await app.ask('GET', acme, { token }), 401, 'unauthenticated', 'Unauthenticated');
    app.clock.now = null;
  });
});

describe('403', () => {
  it('grants nothing its maker lacks', async () => {
    const token = await app.makeToken(['manage_organization', 'browse_studio']);
    expect((await make({ name: 'T', permissions: ['browse_studio'] }, token)).status).toBe(201);
    const answer = await make({ name: 'T', permissions: ['browse_studio', 'edit_studio'] }, token);
    expectRefusal(answer, 403, 'forbidden', 'permissions: you lack edit_studio and cannot grant it');
    expectRefusal(await make({ name: 'T', preset: 'readonly' }, token), 403, 'forbidden', /^permissions: you lack /);
  });

  it('refuses to confine a token to no project at all when its maker is confined', async () => {
    const token = await app.makeToken(permissionNames, { projects: ['site'] });
    const answer = await make({ name: 'T', permissions: ['browse_studio'] }, token);
    expectRefusal(answer, 403, 'forbidden', 'projects: you cannot grant access to projects you have no access to');
  });

  it('grants no project its maker has no access to', async () => {
    await app.ask('POST', `${acme}/projects`, { body: { name: 'Second' } });
    const token = await app.makeToken(permissionNames, { projects: ['site'] });
    expect((await make({ name: 'T', preset: 'readonly', projects: ['site'] }, token)).status).toBe(201);
    for (const projects of [undefined, ['second'], ['site', 'second']])
      expectRefusal(await make({ name: 'T', preset: 'readonly', projects }, token), 403, 'forbidden', /^projects: /);
  });
});

describe('404', () => {
  it.each(['0', '-1', '1.5', '01', '999999999', '99999999999999999999', 'abc', '1%20or%201=1', '%00', '1e3'])(
    'token %s',
    async (id) => {
      expectRefusal(await app.ask('DELETE', `${tokens}/${id}`), 404, 'not_found', 'Token not found');
    },
  );

  it('a token of another organisation', async () => {
    await app.makeToken(['browse_studio'], { organization: 'other' });
    const [row] = await app.services.orm.em
      .fork()
      .execute(
        "select t.id from token t join organization o on o.id = t.organization_id where o.machine_name = 'other'",
      );
    expectRefusal(await app.ask('DELETE', `${tokens}/${row?.id}`), 404, 'not_found', 'Token not found');
  });
});

describe('a token confined to projects', () => {
  const idOf = async (body: object, token = app.token) => (await make(body, token)).body.id as number;
  const listed = async (token: string) => {
    const { body, headers } = await app.ask('GET', `${tokens}?per_page=100`, { token });
    const ids = body.map((item: { id: number }) => item.id) as number[];
    expect(headers.get('x-total-count')).toBe(String(ids.length));
    return ids;
  };

  it('lists and revokes only tokens whose projects are among its own', async () => {
    for (const name of ['Left', 'Right']) await app.ask('POST', `${acme}/projects`, { body: { name } });
    const draft = { name: 'T', preset: 'readonly' };
    const mine = await make({ name: 'Mine', permissions: permissionNames, projects: ['left', 'right'] });
    const within = [
      mine.body.id as number,
      await idOf({ ...draft, projects: ['left'] }),
      await idOf({ ...draft, projects: ['right'] }),
      await idOf({ ...draft, projects: ['right', 'left'] }, mine.body.token),
    ];
    const beyond = [
      await idOf(draft),
      await idOf({ ...draft, projects: ['site'] }),
      await idOf({ ...draft, projects: ['left', 'site'] }),
      await idOf({ ...draft, projects: ['left', 'right', 'site'] }),
    ];
    const { token } = mine.body;
    expect((await listed(token)).sort((a, b) => a - b)).toEqual(within);
    for (const id of beyond)
      expectRefusal(await app.ask('DELETE', `${tokens}/${id}`, { token }), 404, 'not_found', 'Token not found');
    expect(await listed(app.token)).toEqual(expect.arrayContaining(beyond));
    for (const id of within.slice(1)) expect((await app.ask('DELETE', `${tokens}/${id}`, { token })).status).toBe(200);
    expect(await listed(token)).toEqual([mine.body.id]);
    expect(await listed(app.token)).toEqual(expect.arrayContaining(beyond));
  });

  it('reads the record of the organisation without its limits, and its own projects', async () => {
    const token = await app.makeToken(permissionNames, { projects: ['site'] });
    expect((await app.ask('GET', acme, { token })).body).toMatchObject({ machine_name: 'acme' });
    expect((await app.ask('GET', acme, { token })).body).not.toHaveProperty('limits');
    expect((await app.ask('GET', acme)).body).toHaveProperty('limits');
    const { body } = await app.ask('GET', `${acme}/projects`, { token });
    expect(body.map((item: { machine_name: string }) => item.machine_name)).toEqual(['site']);
  });

  it('changes nothing of the organisation', async () => {
    const token = await app.makeToken(permissionNames, { projects: ['site'] });
    const before = (await app.ask('GET', acme)).body;
    expect((await app.ask('PATCH', acme, { token, body: { name: 'Taken over' } })).status).toBe(403);
    expect((await app.ask('POST', `${acme}/projects`, { token, body: { name: 'New' } })).status).toBe(403);
    expect((await app.ask('GET', `${acme}/audit`, { token })).status).toBe(403);
    expect((await app.ask('GET', acme)).body).toEqual(before);
  });
});
