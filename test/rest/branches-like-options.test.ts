import { expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { client } from '../support/git-client.ts';
import { save } from '../support/git-store.ts';
import { mirrorOf, startMirrorApp } from '../support/mirror.ts';

const app = shared(startMirrorApp);

const names = ['-x', '--upload-pack=x', 'HEAD'];

/** A mirror that has branches of these names, as its host has; none can be made any more. */
async function mirrored() {
  const { host, project } = await mirrorOf(app);
  const first = (await host.repository.head('main')) ?? '';
  const here = app.directory(project.record.uuid);
  for (const name of names)
    for (const directory of [here, host.directory]) await client(directory, 'update-ref', `refs/heads/${name}`, first);
  const synced = await project.ask('POST', '/repository/sync', {});
  return { host, project, first, synced };
}

it.each(names)(
  'the branch %s that is here and on the upstream is fetched, read, written, pushed, merged and deleted',
  async (name) => {
    const { host, project, first, synced } = await mirrored();
    expect(synced).toMatchObject({ status: 200, body: { state: 'in_sync' } });
    expect(await project.git.head(name)).toBe(first);
    const branch = encodeURIComponent(name);
    const saved = await project.ask('PUT', `/collections/posts/one?branch=${branch}`, {
      frontmatter: { title: 'Two' },
    });
    expect(saved).toMatchObject({ status: 200, body: { title: 'Two', sync: { state: 'in_sync' } } });
    expect(await host.repository.head(name)).toBe(saved.body.commit.sha);
    expect((await project.ask('GET', `/collections/posts?branch=${branch}`)).body[0].title).toBe('Two');
    const compared = await project.ask('GET', `/compare?base=main&head=${branch}`);
    expect(compared).toMatchObject({ status: 200, body: { ahead_by: 1, head_commit: saved.body.commit.sha } });
    const pull = await project.ask('POST', '/pulls', { title: 'T', head: name });
    expect(pull).toMatchObject({ status: 201, body: { head: { ref: name } } });
    expect(await project.ask('POST', '/merge', { head: name, base: 'main' })).toMatchObject({ status: 201 });
    expect(await project.ask('GET', `/commits?branch=${branch}`)).toMatchObject({ status: 200 });
    const query = `{ project(organization: "acme", project: "${project.name}") { studio { branch(name: "${name}") { name } } } }`;
    const graphql = await app.ask('POST', '/graphql', { body: { query } });
    expect(graphql.body).toEqual({ data: { project: { studio: { branch: { name } } } } });
    expect(await project.ask('DELETE', `/branches/${branch}?force=true`)).toMatchObject({ status: 204 });
    expect(await host.repository.head(name)).toBeNull();
    expect(await project.git.head(name)).toBeNull();
  },
);

it.each(names)('a branch %s that has diverged is rescued', async (name) => {
  const { host, project } = await mirrored();
  await project.ask('PUT', '/repository/remote', { url: host.url, push: 'manual' });
  const place = `/collections/posts/one?branch=${encodeURIComponent(name)}`;
  const { body } = await project.ask('PUT', place, { frontmatter: { title: 'Ours' } });
  await save(host.repository, { 'content/posts/one.md': '---\ntitle: Theirs\n---\n' }, { branch: name });
  const synced = await project.ask('POST', '/repository/sync', {});
  expect(synced).toMatchObject({ status: 409, body: { details: { diverged: [{ branch: name }] } } });
  const rescued = await project.git.refsBelow('refs/portico/rescue');
  expect(rescued.map((ref) => ref.name)).toEqual([`refs/portico/rescue/${name}/${body.commit.sha}`]);
});

it.each(names)(
  'a branch %s that the upstream alone has is left out, which the state of the repository says',
  async (name) => {
    const { host, project } = await mirrorOf(app);
    await client(host.directory, 'update-ref', `refs/heads/${name}`, (await host.repository.head('main')) ?? '');
    const notice = expect.stringMatching(
      /^Left out for their names: branch ".+" \(must not .+\); rename them at the source to have them here$/,
    );
    const synced = await project.ask('POST', '/repository/sync', {});
    expect(synced).toMatchObject({ status: 200, body: { state: 'in_sync', message: notice } });
    expect((await project.ask('GET', '/repository')).body.sync).toMatchObject({ state: 'in_sync', message: notice });
    expect(await project.git.head(name)).toBeNull();
    expect(await host.repository.head(name)).not.toBeNull();
    await client(host.directory, 'update-ref', '-d', `refs/heads/${name}`);
    expect((await project.ask('POST', '/repository/sync', {})).body).not.toHaveProperty('message');
  },
);

it.each(names)('%s cannot be made here', async (name) => {
  const { project } = await mirrorOf(app);
  expect(await project.ask('POST', '/branches', { name })).toMatchObject({
    status: 422,
    body: { code: 'invalid_name' },
  });
});
