import { describe, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { makeEnvironment, publish, startPreview } from '../support/preview.ts';

const app = shared(graphqlApp);
const preview = shared(() => startPreview(app));

const ask = (selection: string, as = app.full) =>
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

  it('of an entry opens its page, and is null where nothing is published', async () => {
    const page = '---\ntitle: One\n---\n';
    await save(await app.repository(), {
      'hugo.toml': "baseURL = 'https://x.org/'\n",
      'content/posts/one.md': page,
    });
    const at = 'organization: "acme", project: "site"';
    const saved = await app.query(`mutation { detectRoutePatterns(${at}, input: { save: true }) { saved } }`);
    expect(saved.body).toEqual({ data: { detectRoutePatterns: { saved: true } } });
    const environment = await makeEnvironment(app, { slug: 'entries', visibility: 'members' });
    const bare = await makeEnvironment(app, { slug: 'bare' });
    await publish(app, environment, { 'posts/one/index.html': 'the page of one' });
    const entry = `entry(collection: "posts", slug: "one")`;
    const { body } = await ask(`
      ${entry} { url preview(environment: ${environment.id}) { ${link} } none: preview(environment: ${bare.id}) { url } }
      at: entry_at(url: "https://x.org/posts/one/") { slug preview(environment: ${environment.id}) { url } }`);
    expect(body.errors).toBeUndefined();
    const { entry: one, at: found } = body.data.project.studio;
    expect([one.url, one.none, found.slug]).toEqual(['/posts/one/', null, 'one']);
    for (const { url } of [one.preview, found.preview]) {
      expect(new URL(url).pathname).toBe('/posts/one/');
      const opened = await preview.ask(environment.label, url.slice(new URL(url).origin.length));
      expect([opened.status, opened.headers.location]).toEqual([303, '/posts/one/']);
      const cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      const served = await preview.ask(environment.label, '/posts/one/', { headers: { cookie } });
      expect([served.status, served.text]).toEqual([200, 'the page of one']);
    }
  });
});
