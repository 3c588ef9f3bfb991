import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.stop());

const page = '---\ntitle: Old\n---\n';

/** Renames the entry `old` of a site of its own. */
async function rename(project: string, files: Record<string, string>, collection: string) {
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seed(app, files, project);
  const url = `${acme}/projects/${project}/studio/collections/${collection}/old`;
  return (await app.ask('PUT', url, { body: { slug: 'new' } })).body;
}

describe('a rename suggests how to keep the old address alive', () => {
  it('by the key the schema declares, with the address where it is known', async () => {
    const fields = [{ name: 'aliases', type: 'string', list: true }];
    const config = { collections: { notes: { path: 'notes', url_pattern: '/n/{slug}/', fields } } };
    const files = { 'studio.config.json': JSON.stringify(config), 'notes/old.md': page };
    const { details } = await rename('declared', files, 'notes');
    expect(details).toEqual({ redirect: { field: '/aliases', slug: 'old', url: '/n/old/' } });
  });

  it('by the key of the framework', async () => {
    const files = { 'hugo.toml': 'title = "x"\n', 'archetypes/posts.md': page, 'content/posts/old.md': page };
    const { details } = await rename('hugo', files, 'posts');
    expect(details).toEqual({ redirect: { field: '/aliases', slug: 'old' } });
  });

  it('where the site has one, and not otherwise', async () => {
    const body = await rename('plain', { 'content/posts/old.md': page }, 'posts');
    expect(body).toMatchObject({ slug: 'new', renamed_from: 'old' });
    expect(body).not.toHaveProperty('details');
  });
});
