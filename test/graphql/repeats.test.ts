import { beforeEach, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

beforeEach(() => app.reset());

const aliases = (count: number, field: string) => Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ');

describe('the same read many times', () => {
  it('runs once under any number of aliases', async () => {
    const { body } = await app.query(
      `{ ${aliases(20, 'project(organization: "acme", project: "site") { name uuid }')} }`,
    );
    expect(Object.keys(body.data)).toHaveLength(20);
    expect(app.operations).toEqual(['projects.getProject']);
  });

  it('runs once whatever the order its arguments are written in', async () => {
    await app.query(
      `{ organization(organization: "acme") {
           a: audit(actor: "x", action: "y") { total_count }
           b: audit(action: "y", actor: "x", first: 30) { total_count }
           c: audit(action: "y", actor: "x", after: null) { total_count }
         } }`,
    );
    expect(app.operations).toEqual(['organizations.locateOrganization', 'audit.listAudit']);
  });

  it('runs again for other arguments', async () => {
    await app.query(
      '{ organization(organization: "acme") { a: projects(first: 1) { total_count } b: projects(first: 2) { total_count } } }',
    );
    expect(app.operations).toEqual([
      'organizations.locateOrganization',
      'projects.listProjects',
      'projects.listProjects',
    ]);
  });

  it('runs again for another request', async () => {
    for (let i = 0; i < 2; i++) await app.query('{ organizations { total_count } }');
    expect(app.operations).toHaveLength(2);
  });

  it('is refused once for all', async () => {
    const { body } = await app.query(`{ ${aliases(5, 'project(organization: "acme", project: "none") { name }')} }`);
    expect(body.errors).toHaveLength(5);
    expect(app.operations).toEqual(['projects.getProject']);
  });

  it('runs again after a command of the same request', async () => {
    const { body } = await app.query(
      `mutation {
        a: updateOrganization(organization: "acme", input: { region: "one" }) { audit(action: "organizations.updateOrganization") { total_count } }
        b: updateOrganization(organization: "acme", input: { region: "two" }) { audit(action: "organizations.updateOrganization") { total_count } }
      }`,
    );
    const { a, b } = body.data;
    expect(b.audit.total_count).toBe(a.audit.total_count + 1);
  });
});

describe('database statements', () => {
  const read = async (first: number) => {
    const { body } = await app.query(
      `{ organization(organization: "acme") {
           projects(first: ${first}) { nodes { id name uuid created_at } }
           tokens(first: ${first}) { nodes { name projects } }
           audit(first: ${first}) { nodes { project actor } }
         } }`,
    );
    expect(body.errors).toBeUndefined();
  };

  it('are as many for 1 row as for 100', async () => {
    for (let i = 0; i < 100; i++) await app.run(createProject, { organization: 'acme', name: `Project ${i}` });
    for (let i = 0; i < 100; i++) await app.token('acme', ['browse_studio'], [`project-${i}`]);
    const one = await app.leastOf(() => read(1));
    const all = await app.leastOf(() => read(100));
    expect(all.statements).toHaveLength(one.statements.length);
  });
});
