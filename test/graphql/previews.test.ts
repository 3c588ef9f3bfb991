import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GraphqlApp, graphqlApp } from '../support/graphql-app.ts';
import { makeEnvironment, publish, startPreview, type TestPreview } from '../support/preview.ts';

let app: GraphqlApp;
let preview: TestPreview;
let token: string;

beforeAll(async () => {
  app = await graphqlApp();
  preview = await startPreview(app);
  token = await app.token('acme');
});
afterAll(async () => {
  await preview.stop();
  await app.close();
});

const ask = (selection: string, as = token) =>
  app.query(`{ project(organization: "acme", project: "site") { studio { ${selection} } } }`, { token: as });
const link = 'url expires_at embeddable';

describe('a preview', () => {
  it('of an environment and of a deployment is a link that opens', async () => {
    const environment = await makeEnvironment(app, { slug: 'main', visibility: 'members' });
    const deployment = await publish(app, environment, { 'a/index.html': 'a' });
    const { body } = await ask(`
      environment(id: ${environment.id}) { preview(path: "/a/") { ${link} } }
      deployment(id: ${deployment.id}) { preview { ${link} } environment { preview { url } } }`);
    expect(body.errors).toBeUndefined();
    const { url, expires_at, embeddable } = body.data.project.studio.environment.preview;
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(50_000);
    expect(embeddable).toBe(true);
    expect((await preview.ask(environment.label, url.slice(new URL(url).origin.length))).status).toBe(303);
    expect(body.data.project.studio.deployment.preview.url).toContain(`://${deployment.label}.localhost`);
  });

  it('is null where nothing is published, and refused where the path is none', async () => {
    const { id } = await makeEnvironment(app, { slug: 'empty' });
    const { body } = await ask(`environment(id: ${id}) { preview { url } }`);
    expect(body).toMatchObject({ data: { project: { studio: { environment: { preview: null } } } } });
    const bad = await ask(`environment(id: ${id}) { preview(path: "//evil.test") { url } }`);
    expect(bad.body.errors[0].message).toContain('path: must be a path');
  });
});
