import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { imageIn } from '../../src/dashboard/lib/media.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, shared, startTestApp } from '../support/app.ts';
import { filesBelow } from '../support/routes/built-pages.ts';
import { type EntryCourse, entryCourses } from '../support/routes/entry-courses.ts';
import { fixtureSites, sourceOf } from '../support/routes/fixture-sites.ts';

const app = shared(startTestApp);

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

it.each(Object.entries<EntryCourse>(entryCourses))(
  'lists, creates with an image, renames and deletes an entry as %s has it',
  async (name, course) => {
    const site = Object.values(fixtureSites).find((one) => one.name === name);
    const directory = sourceOf(site ?? fixtureSites.astro, resolve(import.meta.dirname, '../..'));
    const paths = (await filesBelow(directory)).filter((path) => !/(^|\/)node_modules\//.test(path));
    const files = await Promise.all(paths.map(async (path) => [path, await readFile(join(directory, path))] as const));
    await app.run(createProject, { organization: 'acme', name, machine_name: name });
    await seed(app, Object.fromEntries(files), name);
    const studio = `${acme}/projects/${name}/studio`;
    const manager = await app.makeToken(['browse_studio', 'manage_studio', 'edit_studio', 'delete_studio']);
    const editor = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
    const ask = (method: string, path: string, body?: object) =>
      app.ask(method, `${studio}/${path}`, { token: editor, ...(body && { body }) });
    const saved = await app.ask('POST', `${studio}/route-patterns/detect`, { token: manager, body: { save: true } });
    expect(saved.body.framework?.id).toBe(site?.framework);

    const { collection, image, published, body, inserted, created, as = created.slug, to, renamed, moved } = course;
    const uploaded = await ask('POST', 'media', { path: image, content: pixel });
    expect(uploaded.status, JSON.stringify(uploaded.body)).toBe(201);
    expect(uploaded.body.public_path).toBe(published);
    const { asset_folders = false } = (await ask('GET', `schema/${collection}`)).body;
    const { path, public_path = null, link = null } = uploaded.body;
    const shown = imageIn({ path: created.path, assetFolders: asset_folders }, { path, public_path, link }, 'Inserted');
    expect(shown).toBe(inserted);
    const frontmatter = { title: 'New' };
    expect((await ask('POST', `collections/${collection}`, { slug: as, frontmatter, body })).body).toMatchObject(
      created,
    );
    const entry = (of: string) => `collections/${collection}/${encodeURIComponent(of)}`;
    const listed = await ask('GET', `collections/${collection}?per_page=100`);
    expect(listed.body).toContainEqual(expect.objectContaining(created));
    const { body: text = body, ...place } = renamed;
    expect((await ask('PUT', entry(created.slug), { slug: to ?? renamed.slug })).body).toMatchObject(place);
    expect((await ask('GET', entry(renamed.slug))).body).toMatchObject({ ...place, body: text });
    const deleted = await ask('DELETE', `${entry(renamed.slug)}?assets=true`);
    expect(deleted.body).toMatchObject({ deleted: true, ...(moved !== undefined && { assets: [moved] }) });
    expect((await ask('GET', entry(renamed.slug))).status).toBe(404);
  },
);
