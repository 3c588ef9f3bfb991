import { describe, expect, it } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { acme, seed, shared, startTestApp } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);

const projects = `${acme}/projects`;
const make = (body: object) => app.ask('POST', projects, { body });
const names = async (query = '', token = app.token) =>
  (await app.ask('GET', `${projects}${query}`, { token })).body.map((item: { name: string }) => item.name);

describe('201', () => {
  it('makes a project with an empty repository, and says where it is', async () => {
    const { status, headers, body } = await make({ name: 'Café Zürich 2', region: 'eu' });
    expect(status).toBe(201);
    const time = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);
    expect(body).toEqual({
      id: expect.any(Number),
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Café Zürich 2',
      machine_name: 'cafe-zurich-2',
      region: 'eu',
      created_at: time,
      updated_at: time,
      deleted_at: null,
    });
    expect(headers.get('location')).toBe(`${projects}/cafe-zurich-2`);
    expect((await app.ask('GET', headers.get('location') ?? '')).body).toEqual(body);
    expect((await app.ask('GET', `${projects}/cafe-zurich-2/studio/collections`)).body).toEqual([]);
  });

  it('makes a machine name of at most 63 characters, without a dash at its end', async () => {
    const { body } = await make({ name: `${'x'.repeat(62)} y and more` });
    expect(body.machine_name).toBe('x'.repeat(62));
  });
});

describe('200', () => {
  it('has no region when none was given', async () => {
    expect((await app.ask('GET', `${projects}/site`)).body).not.toHaveProperty('region');
  });

  it('lists by name, in pages that never overlap', async () => {
    for (const name of ['b', 'a', 'B', 'c', 'A'])
      await make({ name: `list ${name}`, machine_name: `list-${name.charCodeAt(0)}` });
    const all = await names('?per_page=100');
    const pages = [];
    for (let page = 1; page <= all.length; page++) pages.push(...(await names(`?per_page=1&page=${page}`)));
    expect(pages).toEqual(all);
    expect(all.length).toBeGreaterThanOrEqual(6);
  });

  it('leads to the other pages', async () => {
    const { headers, body } = await app.ask('GET', `${projects}?per_page=2&page=2&x=a%20b`);
    const total = Number(headers.get('x-total-count'));
    const last = Math.ceil(total / 2);
    const link = (page: number, rel: string) => `<${projects}?per_page=2&page=${page}&x=a+b>; rel="${rel}"`;
    expect(headers.get('link')).toBe(
      [link(1, 'first'), link(1, 'prev'), link(3, 'next'), link(last, 'last')].join(', '),
    );
    expect(body).toHaveLength(2);
  });

  it('gives an empty page past the end, which still leads back', async () => {
    const { status, headers, body } = await app.ask('GET', `${projects}?page=9007199254740991`);
    expect({ status, body }).toEqual({ status: 200, body: [] });
    expect(headers.get('link')).toContain('page=1&per_page=30>; rel="prev"');
  });

  it('clamps per_page to 100', async () => {
    const { headers } = await app.ask('GET', `${projects}?per_page=5000`);
    expect(headers.get('link')).toContain('per_page=100');
  });

  it('shows a confined token its projects only', async () => {
    const token = await app.makeToken(permissionNames, { projects: ['site'] });
    expect(await names('', token)).toEqual(['Site']);
  });

  it('changes what is named and leaves the rest', async () => {
    await make({ name: 'Change me', machine_name: 'change', region: 'eu' });
    const { status, headers, body } = await app.ask('PATCH', `${projects}/change`, {
      body: { name: 'Changed', machine_name: 'x' },
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { name: 'Changed', region: 'eu', machine_name: 'change' },
    });
    expect(headers.get('x-ignored-fields')).toBe('machine_name');
  });

  it('takes the region away by null, and not the name', async () => {
    await make({ name: 'Anywhere', machine_name: 'anywhere', region: 'eu' });
    const change = (body: object) => app.ask('PATCH', `${projects}/anywhere`, { body });
    expect(Object.keys((await change({ region: null })).body)).not.toContain('region');
    expect((await change({ name: null })).status).toBe(400);
  });
});

describe('204', () => {
  it('deletes softly: gone from everywhere, and back with all its content', async () => {
    await make({ name: 'Gone', machine_name: 'gone' });
    const sha = await seed(app, { 'a.md': 'a\n' }, 'gone');
    const deleted = await app.ask('DELETE', `${projects}/gone`);
    expect({ status: deleted.status, body: deleted.body }).toEqual({ status: 204, body: '' });
    for (const path of ['/gone', '/gone/studio/collections', '/gone/studio/commits'])
      expectRefusal(await app.ask('GET', `${projects}${path}`), 404, 'not_found', 'Project not found');
    expect(await names('?per_page=100')).not.toContain('Gone');
    expectRefusal(await app.ask('DELETE', `${projects}/gone`), 404, 'not_found', 'Project not found');
    const back = await app.ask('POST', `${projects}/gone/restore`);
    expect({ status: back.status, body: back.body }).toMatchObject({
      status: 200,
      body: { name: 'Gone', deleted_at: null },
    });
    expect((await app.ask('GET', `${projects}/gone/studio/commits`)).body[0].sha).toBe(sha);
    expectRefusal(await app.ask('POST', `${projects}/gone/restore`), 404, 'not_found', /No deleted project/);
  });

  it('frees the name for a newer project, which the older one then cannot take back', async () => {
    const { body: older } = await make({ name: 'Reused', machine_name: 'reused' });
    await app.ask('DELETE', `${projects}/reused`);
    expect((await make({ name: 'Reused again', machine_name: 'reused' })).status).toBe(201);
    const refused = await app.ask('POST', `${projects}/reused/restore`);
    expectRefusal(refused, 409, 'already_exists', /^project: reused is taken by a newer project; once .* restore /);
    expect(refused.body.message).toContain(older.uuid);
    await app.ask('DELETE', `${projects}/reused`);
    const back = await app.ask('POST', `${projects}/${older.uuid}/restore`);
    expect({ status: back.status, body: back.body }).toMatchObject({
      status: 200,
      body: { id: older.id, name: 'Reused' },
    });
    expectRefusal(
      await app.ask('POST', `${projects}/${older.uuid}/restore`),
      404,
      'not_found',
      'No deleted project has this name',
    );
  });
});

describe('400', () => {
  it.each([
    ['name: is required', {}],
    ['name: must not contain control characters', { name: 'a\u001bb' }],
    ['machine_name: is required, because the name has no letter or digit to make one from', { name: '你好 🎉' }],
    [/^machine_name: must be 1 to 63/, { name: 'x', machine_name: 'Upper' }],
    [/^machine_name: must be 1 to 63/, { name: 'x', machine_name: '../x' }],
    [/^machine_name: must be 1 to 63/, { name: 'x', machine_name: 'x\n' }],
    [/^machine_name: must be 1 to 63/, { name: 'x', machine_name: '' }],
    [/^machine_name: must be 1 to 63/, { name: 'x', machine_name: 'x'.repeat(64) }],
    ['region: must not contain control characters', { name: 'x', region: 'a\u0000' }],
    ['import_url: must be an https URL', { name: 'x', import_url: 'http://example.org/a.git' }],
    ['import_url: must be an https URL', { name: 'x', import_url: 'file:///etc' }],
    ['import_url: must be an https URL', { name: 'x', import_url: '/etc' }],
    ['import_url: must be an https URL', { name: 'x', import_url: 'ext::sh -c id' }],
    ['import_url: must be an https URL', { name: 'x', import_url: '--upload-pack=id' }],
    [
      'import_url: must not contain a user name or password',
      { name: 'x', import_url: 'https://a:b@example.org/a.git' },
    ],
    [
      'import_url: must be at most 2000 characters',
      { name: 'x', import_url: `https://example.org/${'a'.repeat(2000)}` },
    ],
  ])('%s', async (message, body) => {
    expectRefusal(await make(body), 400, 'invalid_request', message);
  });
});

describe('403', () => {
  it('lets a confined token neither make a project nor bring a foreign one back', async () => {
    const token = await app.makeToken(permissionNames, { projects: ['site'] });
    expectRefusal(await app.ask('POST', projects, { token, body: { name: 'N' } }), 403, 'forbidden', /confined/);
    await make({ name: 'Foreign', machine_name: 'foreign' });
    await app.ask('DELETE', `${projects}/foreign`);
    expectRefusal(await app.ask('POST', `${projects}/foreign/restore`, { token }), 403, 'forbidden', /no access/);
  });
});

describe('409', () => {
  it('a taken machine name', async () => {
    expectRefusal(
      await make({ name: 'Site' }),
      409,
      'already_exists',
      'machine_name: site is taken in this organisation',
    );
  });
});
