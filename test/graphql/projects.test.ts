import { describe, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const at = 'organization: "acme"';

describe('projects', () => {
  it('are made, changed, deleted and brought back', async () => {
    const made = await app.query(
      `mutation { createProject(${at}, input: { name: "Blog" }) { machine_name name deleted_at } }`,
    );
    expect(made.body).toEqual({ data: { createProject: { machine_name: 'blog', name: 'Blog', deleted_at: null } } });

    const changed = await app.query(
      `mutation { updateProject(${at}, project: "blog", input: { name: "Journal", region: null }) { machine_name name region } }`,
    );
    expect(changed.body.data.updateProject).toEqual({ machine_name: 'blog', name: 'Journal', region: null });

    const deleted = await app.query(
      `mutation { deleteProject(${at}, project: "blog") { project { machine_name deleted_at node_id } } }`,
    );
    expect(deleted.body.data.deleteProject.project).toEqual({
      machine_name: 'blog',
      deleted_at: expect.any(String),
      node_id: expect.any(String),
    });
    const gone = await app.query(`{ project(${at}, project: "blog") { name } }`);
    expect(gone.body.errors[0]).toMatchObject({ message: 'Project not found', extensions: { code: 'NOT_FOUND' } });

    const back = await app.query(
      `mutation { restoreProject(${at}, input: { deleted_project: "blog" }) { name deleted_at } }`,
    );
    expect(back.body.data.restoreProject).toEqual({ name: 'Journal', deleted_at: null });
  });

  it('answer a repeat under the same key with the first answer', async () => {
    const document = `mutation { createProject(${at}, input: { name: "Once", idempotency_key: "k1" }) { uuid } }`;
    const first = await app.query(document);
    const second = await app.query(document);
    expect(first.body.errors).toBeUndefined();
    expect(second.body).toEqual(first.body);
    const other = await app.query(document.replace('Once', 'Twice'));
    expect(other.body.errors[0].extensions).toMatchObject({ code: 'UNPROCESSABLE', reason: 'idempotency_mismatch' });
  });

  it('are read after a command as it left them', async () => {
    const { body } = await app.query(
      `mutation {
        first: updateProject(${at}, project: "site", input: { name: "One" }) { name }
        second: updateProject(${at}, project: "site", input: { name: "Two" }) { name }
      }`,
    );
    expect(body.data).toEqual({ first: { name: 'One' }, second: { name: 'Two' } });
    const { body: after } = await app.query(`{ project(${at}, project: "site") { name } }`);
    expect(after.data.project.name).toBe('Two');
  });

  it('outside the list of the token are refused', async () => {
    const confined = await app.token('acme', undefined, ['site']);
    const { body } = await app.query(
      `{ a: project(${at}, project: "site") { name } b: project(${at}, project: "once") { name } }`,
      { token: confined },
    );
    expect(body.data).toEqual({ a: { name: 'Two' }, b: null });
    expect(body.errors).toMatchObject([
      { message: 'This credential has no access to the project', extensions: { code: 'FORBIDDEN' } },
    ]);
  });
});

describe('tokens', () => {
  it('are made with their text shown once, and revoked at once', async () => {
    const made = await app.query(
      `mutation { createToken(${at}, input: { name: "CI", preset: readonly, expires_in: "30d" }) { id token permissions preset expires_at } }`,
    );
    const { createToken } = made.body.data;
    expect(createToken).toMatchObject({ preset: 'readonly', token: expect.stringMatching(/^ptc_/) });
    const use = () => app.query('{ me { id } }', { token: createToken.token });
    expect((await use()).body.data.me.id).toBe(`token:${createToken.id}`);

    const revoked = await app.query(
      `mutation { revokeToken(${at}, input: { token_id: "${createToken.id}" }) { message } }`,
    );
    expect(revoked.body.data.revokeToken).toEqual({ message: 'Token revoked' });
    expect((await use()).status).toBe(401);
  });

  it('name the field at fault, as REST does', async () => {
    const { body } = await app.query(
      `mutation { createToken(${at}, input: { name: "", permissions: [browse_studio] }) { id } }`,
    );
    expect(body.errors[0]).toMatchObject({
      message: 'name: must not be empty',
      path: ['createToken'],
      extensions: {
        code: 'BAD_USER_INPUT',
        reason: 'invalid_request',
        details: { errors: [{ field: '/name', code: 'invalid_request', message: 'must not be empty' }] },
        request_id: 'test-request',
      },
    });
  });
});

describe('me', () => {
  it('returns the permissions of a token', async () => {
    const confined = await app.token('acme', ['browse_studio', 'edit_studio'], ['site']);
    const { body } = await app.query(
      '{ me { id name instance_admin grants { organization owner permissions projects } } }',
      {
        token: confined,
      },
    );
    expect(body.data.me).toEqual({
      id: expect.stringMatching(/^token:\d+$/),
      name: 'Test',
      instance_admin: false,
      grants: [
        { organization: 'acme', owner: false, permissions: ['browse_studio', 'edit_studio'], projects: ['site'] },
      ],
    });
  });

  it('is null without a credential', async () => {
    expect((await app.query('{ me { id } }', { token: null })).body).toEqual({ data: { me: null } });
  });
});
