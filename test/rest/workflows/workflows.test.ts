import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../../support/app.ts';

const base = '/api/v2/organizations/acme/projects/site/workflows';
const definition = `portico: workflow/1
# says hello
steps:
  - {id: hello, type: transform, expression: '"hello " & input.name'}
`;

const app = shared(startTestApp);

const ask = (method: string, path: string, options: object = {}) => app.ask(method, `${base}${path}`, options);
const create = async (body: object = {}) =>
  (await ask('POST', '', { body: { name: 'Hello', definition, ...body } })).body;

describe('POST', () => {
  it('201 with the definition as it was written and as it is understood', async () => {
    const { status, body, headers } = await ask('POST', '', { body: { name: ' Hello ', definition } });
    expect([status, headers.get('location'), headers.get('etag')]).toEqual([201, `${base}/${body.id}`, '"1"']);
    expect(body).toMatchObject({
      name: 'Hello',
      description: null,
      enabled: true,
      version: 1,
      latest_version: 1,
      permissions: [],
      webhook_url: null,
      last_execution: null,
      deleted_at: null,
      source: definition,
      definition: { portico: 'workflow/1', steps: [{ id: 'hello', type: 'transform' }] },
    });
    expect((await ask('GET', `/${body.id}`)).body).toEqual(body);
  });

  it('201 with an object for a definition', async () => {
    const object = { portico: 'workflow/1', steps: [{ id: 'a', type: 'fail' }] };
    expect((await create({ definition: object })).definition).toEqual(object);
  });

  it('400 without a name or a definition', async () => {
    expect((await ask('POST', '', { body: { definition } })).body).toMatchObject({ message: 'name: is required' });
    expect(await ask('POST', '', { body: { name: 'a' } })).toMatchObject({
      status: 400,
      body: {
        message: 'definition: is required',
        details: { errors: [{ field: '/definition', code: 'invalid_request', message: 'is required' }] },
      },
    });
  });

  it('400 for text that cannot be stored, wherever it is', async () => {
    for (const [method, path, body] of [
      ['POST', '', { name: 'x', definition, description: 'a\u0000b' }],
      ['GET', '?q=%00', undefined],
    ] as const) {
      const answer = await ask(method, path, { body });
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('must not contain NUL')]);
    }
  });

  it('422 names every fault with its line, and keeps nothing', async () => {
    const before = (await ask('GET', '')).headers.get('x-total-count');
    const { status, body } = await ask('POST', '', {
      body: { name: 'a', definition: 'portico: workflow/1\nsteps:\n  - {id: A, type: fail, x: 1}\n' },
    });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      error: true,
      code: 'validation_failed',
      message: expect.stringMatching(/^definition: line 3: \/steps\/0/),
    });
    expect(body.details.errors).toEqual([
      expect.objectContaining({ field: '/steps/0/id', code: 'invalid_value', line: 3 }),
      expect.objectContaining({ field: '/steps/0/x', code: 'unknown_key', line: 3 }),
    ]);
    expect((await ask('GET', '')).headers.get('x-total-count')).toBe(before);
  });

  it('403 with a permission the caller lacks', async () => {
    const token = await app.makeToken(['edit_workflows', 'browse_workflows']);
    const wanting = (name: string) => ({ name: 'a', definition: `${definition}permissions: [${name}]\n` });
    const refused = await ask('POST', '', { body: wanting('edit_studio'), token });
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'definition.permissions: you lack edit_studio and cannot grant it',
    ]);
    expect((await ask('POST', '', { body: wanting('browse_workflows'), token })).status).toBe(201);
  });
});

describe('PATCH', () => {
  it('a changed definition is the next version, the same one is none', async () => {
    const { id } = await create();
    const next = definition.replace('hello ', 'bye ');
    const changed = await ask('PATCH', `/${id}`, { body: { definition: next } });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"']);
    expect(changed.body).toMatchObject({ version: 2, latest_version: 2, source: next });
    expect((await ask('PATCH', `/${id}`, { body: { definition: next } })).body.latest_version).toBe(2);
  });

  it('publish: false leaves new executions with the old one, until it is published', async () => {
    const { id } = await create();
    const next = definition.replace('hello ', 'bye ');
    expect((await ask('PATCH', `/${id}`, { body: { definition: next, publish: false } })).body).toMatchObject({
      version: 1,
      latest_version: 2,
      source: definition,
    });
    const versions = (await ask('GET', `/${id}/versions`)).body;
    for (const { created_by, created_by_name } of versions)
      expect([created_by, created_by_name]).toEqual([expect.stringMatching(/^token:\d+$/), 'Test']);
    expect(
      versions.map((version: { number: number; published: boolean }) => [version.number, version.published]),
    ).toEqual([
      [2, false],
      [1, true],
    ]);
    expect((await ask('POST', `/${id}/versions/2/publish`)).body).toMatchObject({ version: 2, source: next });
    expect((await ask('POST', `/${id}/versions/1/publish`)).body).toMatchObject({ version: 1, source: definition });
    expect((await ask('POST', `/${id}/versions/3/publish`)).body).toMatchObject({ code: 'not_found' });
  });

  it('leaves what it does not mention', async () => {
    const made = await create({ description: 'about it' });
    const { updated_at: _u, ...rest } = (await ask('PATCH', `/${made.id}`, { body: { name: 'New' } })).body;
    const { updated_at: _m, ...before } = made;
    expect(rest).toEqual({ ...before, name: 'New' });
  });

  it('412 on a stale If-Match, 409 on a stale base_version', async () => {
    const { id } = await create();
    const next = definition.replace('hello ', 'bye ');
    const change = (headers: object, body: object = {}) =>
      ask('PATCH', `/${id}`, { body: { definition: next, ...body }, headers });
    expect((await change({ 'If-Match': '"1"' })).status).toBe(200);
    expect((await change({ 'If-Match': '"1"' })).status).toBe(412);
    expect((await change({}, { base_version: 1 })).body).toMatchObject({ code: 'version_mismatch' });
    expect((await change({}, { base_version: 1 })).status).toBe(409);
    expect((await change({ 'If-Match': '"2"' }, { base_version: 2 })).status).toBe(200);
  });
});

describe('GET', () => {
  it('a version as it was written, with its comments, for those who want YAML', async () => {
    const { id } = await create();
    const asYaml = await fetch(`${app.url}${base}/${id}/versions/1`, {
      headers: { Authorization: `Bearer ${app.token}`, Accept: 'application/yaml' },
    });
    expect(asYaml.headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(await asYaml.text()).toBe(definition);
    expect((await ask('GET', `/${id}/versions/1`)).body).toMatchObject({ source: definition, published: true });
  });

  it('filters by name and by being enabled', async () => {
    const { id } = await create({ name: 'Only 100% one_of a kind', enabled: false });
    const named = async (query: string) =>
      (await ask('GET', `?${query}`)).body.map((workflow: { id: string }) => workflow.id);
    expect(await named('q=100%25%20ONE_OF')).toEqual([id]);
    expect(await named('q=100_')).toEqual([]);
    expect(await named('enabled=false')).toEqual([id]);
    expect(await named('enabled=true')).not.toContain(id);
  });

  it.each(['nothing', randomUUID(), '00000000-0000-1000-8000-000000000000'])('404 for %s', async (id) => {
    expect((await ask('GET', `/${id}`)).body).toMatchObject({ message: 'Workflow not found', code: 'not_found' });
  });

  it('enable and disable', async () => {
    const { id } = await create();
    expect((await ask('POST', `/${id}/disable`)).body.enabled).toBe(false);
    expect((await ask('POST', `/${id}/enable`)).body.enabled).toBe(true);
  });
});

describe('POST validate', () => {
  it('returns errors and warnings, and stores nothing', async () => {
    const source = `${definition}  - {id: which, type: condition, expression: 'true', then: [{id: yes, type: transform, expression: '1'}]}\n  - {id: use, type: transform, expression: steps.yes.output}\n`;
    const { status, body } = await ask('POST', '/validate', { body: { definition: source } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ valid: true, errors: [], warnings: [{ code: 'step_may_not_run', line: 6 }] });
    expect((await ask('POST', '/validate', { body: { definition: '' } })).body).toMatchObject({ valid: false });
  });
});

describe('secrets', () => {
  it('are set, replaced, listed by name and removed; their values are nowhere', async () => {
    const { id } = await create();
    const put = (name: string, value: string) => ask('PUT', `/${id}/secrets/${name}`, { body: { value } });
    expect((await put('KEY', 'planted-value')).status).toBe(204);
    expect((await put('KEY', 'planted-value-2')).status).toBe(204);
    expect((await put('A', 'x')).status).toBe(204);
    const list = await ask('GET', `/${id}/secrets`);
    expect(list.body.map(({ name }: { name: string }) => name)).toEqual(['A', 'KEY']);
    expect(JSON.stringify(list.body)).not.toContain('planted');
    const rows = await app.services.orm.em.fork().execute('select * from workflow_secret');
    expect(JSON.stringify(rows)).not.toContain('planted');
    const audit = await app.services.orm.em
      .fork()
      .execute(`select * from audit where subject_type = 'workflow_secret'`);
    expect(audit).toHaveLength(3);
    expect(JSON.stringify(audit)).not.toContain('planted');
    expect((await ask('DELETE', `/${id}/secrets/KEY`)).status).toBe(204);
    expect((await ask('DELETE', `/${id}/secrets/KEY`)).status).toBe(404);
  });

  it('limits on both sides: bytes, names, how many', async () => {
    const { id } = await create();
    const put = (name: string, value: string) => ask('PUT', `/${id}/secrets/${name}`, { body: { value } });
    expect((await put('a', 'x'.repeat(16 * 1024))).status).toBe(204);
    expect((await put('a', 'x'.repeat(16 * 1024 + 1))).status).toBe(400);
    expect((await put('a', '')).status).toBe(400);
    expect((await put('1a', 'x')).status).toBe(400);
    for (let n = 1; n < 50; n += 1) expect((await put(`s${n}`, 'x')).status).toBe(204);
    expect((await put('s50', 'x')).body).toMatchObject({ code: 'limit_reached' });
    expect((await put('s1', 'y')).status).toBe(204);
  });
});

describe('a definition with a secret that is not set', () => {
  const source = 'portico: workflow/1\nsteps:\n  - {id: a, type: http, url: "https://a.example/${{ secrets.KEY }}"}\n';
  const warning = [{ field: '/steps/0/url', code: 'secret_not_set', line: 3 }];

  it('is saved, and the answer names the secret until it is set', async () => {
    const made = await ask('POST', '', { body: { name: 'Secret', definition: source } });
    expect([made.status, made.body.warnings]).toMatchObject([201, warning]);
    const path = `/${made.body.id}`;
    const save = (more: string) => ask('PATCH', path, { body: { definition: `${source}# ${more}\n` } });
    expect((await save('again')).body.warnings).toMatchObject(warning);
    const validate = (workflow?: string) =>
      ask('POST', '/validate', { body: { definition: source, ...(workflow && { workflow }) } });
    expect((await validate(made.body.id)).body).toMatchObject({ valid: true, warnings: warning });
    expect((await ask('PUT', `${path}/secrets/KEY`, { body: { value: 'x' } })).status).toBe(204);
    expect((await save('with it')).body).not.toHaveProperty('warnings');
    expect((await validate(made.body.id)).body).toMatchObject({ valid: true, warnings: [] });
    expect((await validate()).body).toMatchObject({ valid: true, warnings: warning });
    expect((await validate(randomUUID())).status).toBe(404);
  });

  it('422 with the place of a function that is not there', async () => {
    const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: transform, expression: "$upper(input)"}\n';
    expect(await ask('POST', '', { body: { name: 'Function', definition } })).toMatchObject({
      status: 422,
      body: { details: { errors: [{ field: '/steps/0/expression', code: 'unknown_function', line: 3 }] } },
    });
  });
});
