import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
});

const data = (document: string, variables = {}) => app.data(document, { variables });

describe('organizations', () => {
  it('lists those the caller may read, as a connection', async () => {
    const { organizations } = await data(
      '{ organizations { nodes { name machine_name } edges { cursor node { name } } total_count page_info { has_next_page has_previous_page start_cursor end_cursor } } }',
    );
    const [{ cursor }] = organizations.edges;
    expect(organizations).toEqual({
      nodes: [{ name: 'Acme', machine_name: 'acme' }],
      edges: [{ cursor, node: { name: 'Acme' } }],
      total_count: 1,
      page_info: { has_next_page: false, has_previous_page: false, start_cursor: cursor, end_cursor: cursor },
    });
  });
});

describe('organization', () => {
  it('gives the record; a field without a value is null', async () => {
    const { organization } = await data('{ organization(organization: "acme") { name machine_name type created_at } }');
    expect(organization).toEqual({ name: 'Acme', machine_name: 'acme', type: null, created_at: expect.any(String) });
    expect(new Date(organization.created_at).toISOString()).toBe(organization.created_at);
  });

  it('leads to projects, tokens and the audit log', async () => {
    const { organization } = await data(`{
      organization(organization: "acme") {
        projects { nodes { machine_name } }
        tokens { nodes { name last4 permissions projects preset expires_at } }
        audit(action: "projects.createProject") { nodes { action actor outcome subject_type subject_id changes } }
      }
    }`);
    expect(organization.projects.nodes).toEqual([{ machine_name: 'site' }]);
    expect(organization.tokens.nodes[0]).toMatchObject({ name: 'Test', projects: null, preset: null });
    expect(organization.audit.nodes).toEqual([
      {
        action: 'projects.createProject',
        actor: 'system:test',
        outcome: 'ok',
        subject_type: 'project',
        subject_id: 'site',
        changes: expect.objectContaining({ name: 'Site' }),
      },
    ]);
  });

  it('needs no more than the permission of what is selected below it', async () => {
    const manager = await app.token('acme', ['manage_organization']);
    const { body } = await app.query('{ organization(organization: "acme") { tokens { total_count } } }', {
      token: manager,
    });
    expect(body.errors).toBeUndefined();
    expect(body.data.organization.tokens.total_count).toBeGreaterThan(0);
    const refused = await app.query('{ organization(organization: "acme") { name } }', { token: manager });
    expect(refused.body.data).toEqual({ organization: { name: null } });
    expect(refused.body.errors[0].extensions.code).toBe('FORBIDDEN');
  });

  it('changes, with null for what stays as it is', async () => {
    const { updateOrganization } = await data(
      'mutation ($input: UpdateOrganizationInput!) { updateOrganization(organization: "acme", input: $input) { name region projects { total_count } } }',
      { input: { region: 'eu', type: null, name: null } },
    );
    expect(updateOrganization).toEqual({ name: 'Acme', region: 'eu', projects: { total_count: 1 } });
  });

  it('is made by administrators of the instance only', async () => {
    const { body } = await app.query('mutation { createOrganization(input: { name: "New" }) { name } }');
    expect(body.data).toEqual({ createOrganization: null });
    expect(body.errors[0].extensions).toMatchObject({ code: 'FORBIDDEN', reason: 'forbidden' });
  });
});

describe('connections', () => {
  beforeAll(async () => {
    for (const name of ['A', 'B', 'C', 'D'])
      await app.run(createProject, { organization: 'acme', name: `List ${name}` });
  });
  const page = (after: string | null, first: number) =>
    data(
      'query ($after: String, $first: Int) { organization(organization: "acme") { projects(first: $first, after: $after) { nodes { name } page_info { has_next_page has_previous_page end_cursor } total_count } } }',
      { after, first },
    ).then(({ organization }) => organization.projects);

  it('lead from page to page by cursor, visiting each item once', async () => {
    const names: string[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < 3; pages++) {
      const { nodes, page_info, total_count } = await page(after, 2);
      names.push(...nodes.map((node: { name: string }) => node.name));
      expect(total_count).toBe(5);
      expect(page_info.has_previous_page).toBe(pages > 0);
      expect(page_info.has_next_page).toBe(pages < 2);
      after = page_info.end_cursor;
    }
    expect(names).toEqual(['List A', 'List B', 'List C', 'List D', 'Site']);
  });

  it.each([0, 101, -1])('refuse first: %i', async (first) => {
    const { body } = await app.query(`{ organizations(first: ${first}) { total_count } }`);
    expect(body.errors[0]).toMatchObject({
      message: 'first: must be from 1 to 100',
      extensions: { code: 'BAD_USER_INPUT', reason: 'invalid_request' },
    });
  });

  it('take first: 100, and null as the default', async () => {
    expect((await page(null, 100)).nodes).toHaveLength(5);
    const { organizations } = await data('{ organizations(first: null, after: null) { total_count } }');
    expect(organizations.total_count).toBe(1);
  });

  it('refuse a cursor they did not give out', async () => {
    const { body } = await app.query('{ organizations(after: "nonsense") { total_count } }');
    expect(body.errors[0].message).toBe('after: is not a cursor this list gave out');
  });
});
