import { describe, expect, it, vi } from 'vitest';
import { shared } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { commitFiles, setRef } from '../../support/git-history.ts';
import { fsck, git, save } from '../../support/git-store.ts';
import { mirrorOf, revocable, startMirrorApp } from '../../support/mirror.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(startMirrorApp);

const onePath = 'content/posts/one.md';
const titled = (title: string) => ({ [onePath]: post({ title, tags: ['a'] }, 'First\n\nSecond\n') });

/** A schema for the posts. */
const declared = {
  'astro.config.mjs': 'export default {};\n',
  'src/content.config.ts': `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
const loader = glob({ pattern: '**/*.md', base: './content/posts' });
export const collections = { posts: defineCollection({ loader, schema: z.object({ title: z.string() }) }) };
`,
};

/** Both sides have given the post another title. */
async function conflicting() {
  const mirror = await mirrorOf(app);
  const { commit: theirs } = await save(mirror.host.repository, titled('Theirs'));
  const saved = await mirror.project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Ours' } });
  return { ...mirror, saved, ours: saved.body.commit.sha as string, theirs: theirs?.sha ?? '' };
}

describe('a true conflict', () => {
  it('leaves the commit on its branch, under a rescue ref, and says so', async () => {
    const { host, project, saved, ours, theirs } = await conflicting();
    expect(saved).toMatchObject({
      status: 200,
      body: { title: 'Ours', sync: { state: 'diverged', ahead_by: 1, behind_by: 1, upstream_sha: theirs } },
    });
    expect(await project.git.head('main')).toBe(ours);
    expect(await host.repository.head('main')).toBe(theirs);
    expect(await project.git.refsBelow('refs/portico/rescue/main')).toEqual([
      { name: `refs/portico/rescue/main/${ours}`, oid: ours },
    ]);
    const { body } = await project.ask('GET', '/repository');
    expect(body.sync.state).toBe('diverged');
    expect(body.diverged).toMatchObject([
      {
        branch: 'main',
        head_sha: theirs,
        base_sha: ours,
        conflicts: [{ path: onePath, fields: [{ field: '/title', base: 'One', current: 'Ours', incoming: 'Theirs' }] }],
      },
    ]);
    expect((await project.ask('GET', '/branches')).body[0].sync.state).toBe('diverged');
  });

  it('is finished by resolutions, while writes go on', async () => {
    const { host, project } = await conflicting();
    const more = await project.ask('POST', '/collections/posts', { slug: 'two', frontmatter: { title: 'Two' } });
    expect(more).toMatchObject({ status: 201, body: { sync: { state: 'diverged', ahead_by: 2 } } });
    expectRefusal(
      await project.ask('POST', '/repository/sync', {}),
      409,
      'upstream_diverged',
      /bring the two sides together|in conflict/,
    );
    const left = await project.ask('POST', '/repository/sync', { branch: 'main' });
    expectRefusal(left, 409, 'upstream_diverged', /bring the two sides together|in conflict/);
    const [conflict] = left.body.details.conflicts;
    const resolutions = [{ path: onePath, stages: conflict.stages, fields: { '/title': { value: 'Both' } } }];
    const done = await project.ask('POST', '/repository/sync', { branch: 'main', resolutions });
    expect(done).toMatchObject({ status: 200, body: { state: 'in_sync', ahead_by: 0, behind_by: 0 } });
    expect((await project.ask('GET', '/collections/posts/one')).body.title).toBe('Both');
    expect(await host.repository.head('main')).toBe(await project.git.head('main'));
    expect((await project.ask('GET', '/repository')).body).toMatchObject({ sync: { state: 'in_sync' }, diverged: [] });
    fsck(host.directory);
  });

  it('takes no resolution made for another state', async () => {
    const { host, project } = await conflicting();
    const left = await project.ask('POST', '/repository/sync', { branch: 'main' });
    const { stages } = left.body.details.conflicts[0];
    await save(host.repository, titled('Theirs again'));
    const resolutions = [{ path: onePath, stages, take: 'current' }];
    const late = await project.ask('POST', '/repository/sync', { branch: 'main', resolutions });
    expectRefusal(late, 409, 'branch_moved', /changed since/);
    expect(late.body.details.conflicts[0].fields[0].incoming).toBe('Theirs again');
    const unknown = [
      { path: onePath, stages: late.body.details.conflicts[0].stages, fields: { '/nope': { take: 'current' } } },
    ];
    expectRefusal(
      await project.ask('POST', '/repository/sync', { branch: 'main', resolutions: unknown }),
      422,
      'validation_failed',
      /nope/,
    );
    expect((await project.ask('GET', '/repository')).body.sync.state).toBe('diverged');
  });

  it('is settled without a pull request, on a branch that only these move, with manage_studio alone', async () => {
    const { host, project } = await conflicting();
    const settings = { protected_branches: ['main'], require_pull: true };
    expect((await project.ask('PATCH', '/repository', settings)).status).toBe(200);
    const left = await project.ask('POST', '/repository/sync', { branch: 'main' });
    const { stages } = left.body.details.conflicts[0];
    const resolutions = [{ path: onePath, stages, fields: { '/title': { value: 'Slipped in' } } }];
    const editor = await app.makeToken(['browse_studio', 'edit_studio']);
    const settle = (token: string, body: object) => app.ask('POST', `${project.base}/repository/sync`, { token, body });
    for (const body of [{ branch: 'main', resolutions }, { resolutions }])
      expectRefusal(await settle(editor, body), 403, 'forbidden', /manage_studio/);
    expect((await project.ask('GET', '/collections/posts/one')).body.title).toBe('Ours');
    expect(await settle(app.token, { branch: 'main', resolutions })).toMatchObject({ status: 200 });
    await save(host.repository, { 'content/posts/more.md': post({ title: 'More' }) });
    expect(await settle(editor, {})).toMatchObject({ status: 200, body: { state: 'in_sync' } });
  });

  it('is settled without errors that keep it from being published, whatever else the upstream brings', async () => {
    const { host, project } = await conflicting();
    expect((await project.ask('PATCH', '/repository', { publish_checks: 'block' })).status).toBe(200);
    // So many are checked before the turn of their merge.
    const theirs = Array.from({ length: 101 }, (_, n) => [`content/posts/theirs-${n}.md`, post({ name: 'No title' })]);
    await save(host.repository, { ...declared, ...Object.fromEntries(theirs) });
    const left = await project.ask('POST', '/repository/sync', { branch: 'main' });
    const { stages } = left.body.details.conflicts[0];
    const settle = (raw: string) =>
      project.ask('POST', '/repository/sync', { branch: 'main', resolutions: [{ path: onePath, stages, raw }] });
    expectRefusal(await settle(post({ tags: [] })), 409, 'checks_failed', /^1 error keeps .*one\.md: is required/);
    expect((await project.ask('GET', '/collections/posts/one')).body.title).toBe('Ours');
    expect(await settle(post({ title: 'Both' }))).toMatchObject({ status: 200, body: { state: 'in_sync' } });
  });

  it('is not settled for a credential that was revoked while the upstream answered', async () => {
    const { project, ours } = await conflicting();
    const left = await project.ask('POST', '/repository/sync', { branch: 'main' });
    const { stages } = left.body.details.conflicts[0];
    const { token, revoke } = await revocable(app, ['browse_studio', 'edit_studio']);
    const { git } = app.services;
    const fetchUpstream = git.fetchUpstream.bind(git);
    vi.spyOn(git, 'fetchUpstream').mockImplementationOnce(async (...given) => {
      await revoke();
      return fetchUpstream(...given);
    });
    const body = { branch: 'main', resolutions: [{ path: onePath, stages, take: 'current' }] };
    expect((await app.ask('POST', `${project.base}/repository/sync`, { token, body })).status).toBe(401);
    expect(await project.git.head('main')).toBe(ours);
    expect((await project.ask('GET', '/repository')).body.sync.state).toBe('diverged');
  });

  it('takes no resolution for what is not in conflict', async () => {
    const { host, project } = await mirrorOf(app);
    const stages = { base: null, current: null, incoming: null };
    const resolutions = [{ path: onePath, stages, take: 'current' }];
    const ask = (branch?: string) =>
      project.ask('POST', '/repository/sync', { ...(branch && { branch }), resolutions });
    for (const branch of ['main', undefined])
      expectRefusal(await ask(branch), 422, 'validation_failed', /not in conflict/);
    await save(host.repository, titled('Theirs'));
    expectRefusal(await ask('main'), 422, 'validation_failed', /not in conflict/);
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
  });

  it('is over when a person resolves it upstream', async () => {
    const { host, project, ours, theirs } = await conflicting();
    // The person there fetched our commit from here and merged.
    git(host.directory, ['fetch', '-q', app.directory(project.record.uuid), ours]);
    const tree = git(host.directory, ['rev-parse', `${ours}^{tree}`]);
    const merged = git(host.directory, ['commit-tree', tree, '-p', theirs, '-p', ours, '-m', 'Settled']);
    setRef(host.directory, 'refs/heads/main', merged);
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
    expect(await project.git.head('main')).toBe(merged);
  });
});

describe('an upstream that rewrites', () => {
  it('is followed by a branch that is wholly there, whose commits stay rescued', async () => {
    const { host, project } = await mirrorOf(app);
    const old = (await project.git.head('main')) ?? '';
    const rewritten = commitFiles(host.directory, null, titled('Rewritten'));
    setRef(host.directory, 'refs/heads/main', rewritten);
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
    expect(await project.git.head('main')).toBe(rewritten);
    expect(await project.git.refsBelow('refs/portico/rescue/main')).toMatchObject([{ oid: old }]);
  });

  it('is not followed back by pushing what it dropped', async () => {
    const { host, project } = await mirrorOf(app);
    const first = (await host.repository.head('main')) ?? '';
    await project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Dropped there' } });
    setRef(host.directory, 'refs/heads/main', first);
    await project.ask('POST', '/repository/sync', {});
    expect(await host.repository.head('main')).toBe(first);
    expect(await project.git.head('main')).toBe(first);
  });

  it('never resets a branch that has commits of its own', async () => {
    const { host, project } = await mirrorOf(app, { push: 'manual' });
    const saved = await project.ask('PUT', '/collections/posts/one', { frontmatter: { tags: ['b'] } });
    const rewritten = commitFiles(host.directory, null, titled('Rewritten'));
    setRef(host.directory, 'refs/heads/main', rewritten);
    const response = await project.ask('POST', '/repository/sync', {});
    expectRefusal(response, 409, 'upstream_diverged', /bring the two sides together|in conflict/);
    expect(response.body.details.diverged[0].message).toContain('rewrote');
    expect(await project.git.head('main')).toBe(saved.body.commit.sha);
    expect(await project.git.refsBelow('refs/portico/rescue/main')).toMatchObject([{ oid: saved.body.commit.sha }]);
  });

  it('merges a rewritten history when a person names the branch', async () => {
    const { host, project } = await mirrorOf(app, { push: 'manual' });
    const first = (await host.repository.head('main')) ?? '';
    await save(host.repository, titled('Second'));
    await project.ask('POST', '/repository/sync', {});
    await project.ask('PUT', '/collections/posts/one', { frontmatter: { tags: ['b'] } });
    const other = commitFiles(host.directory, first, { 'content/posts/other.md': post({ title: 'Other' }) });
    setRef(host.directory, 'refs/heads/main', other);
    expectRefusal(
      await project.ask('POST', '/repository/sync', {}),
      409,
      'upstream_diverged',
      /bring the two sides together|in conflict/,
    );
    const done = await project.ask('POST', '/repository/sync', { branch: 'main' });
    expect(done).toMatchObject({ status: 200, body: { state: 'in_sync' } });
    const { body } = await project.ask('GET', '/collections/posts');
    expect(body.map(({ slug }: { slug: string }) => slug)).toEqual(['one', 'other']);
  });
});

describe('a branch deleted there', () => {
  it('stays when it has commits of its own, and is pushed again when a person says so', async () => {
    const { host, project } = await mirrorOf(app, { push: 'manual' });
    await project.ask('POST', '/branches', { name: 'topic' });
    await project.ask('POST', '/repository/sync', {});
    const saved = await project.ask('PUT', '/collections/posts/one?branch=topic', { frontmatter: { tags: ['b'] } });
    await host.repository.deleteBranch('topic', (await host.repository.head('topic')) ?? '');
    expectRefusal(
      await project.ask('POST', '/repository/sync', {}),
      409,
      'upstream_diverged',
      /bring the two sides together|in conflict/,
    );
    expect(await project.git.head('topic')).toBe(saved.body.commit.sha);
    expect((await project.ask('POST', '/repository/sync', { branch: 'topic' })).body.state).toBe('in_sync');
    expect(await host.repository.head('topic')).toBe(saved.body.commit.sha);
  });

  it('closes the pull requests it was the head of, which keep what they propose', async () => {
    const { host, project } = await mirrorOf(app);
    await project.ask('POST', '/branches', { name: 'topic' });
    await project.ask('PUT', '/collections/posts/one?branch=topic', { frontmatter: { tags: ['b'] } });
    const head = (await project.git.head('topic')) ?? '';
    await project.ask('POST', '/pulls', { title: 'Topic', head: 'topic' });
    await host.repository.deleteBranch('topic', head);
    await project.ask('POST', '/repository/sync', {});
    expect(await project.git.head('topic')).toBeNull();
    expect(await project.git.refsBelow('refs/portico/rescue')).toEqual([]);
    expect((await project.ask('GET', '/pulls/1')).body).toMatchObject({ state: 'closed', head: { sha: head } });
  });

  it('leaves what nothing else has under a rescue ref', async () => {
    const { host, project } = await mirrorOf(app);
    for (const name of ['empty', 'topic']) await project.ask('POST', '/branches', { name });
    await project.ask('PUT', '/collections/posts/one?branch=topic', { frontmatter: { tags: ['b'] } });
    const head = (await project.git.head('topic')) ?? '';
    for (const name of ['empty', 'topic'])
      await host.repository.deleteBranch(name, (await host.repository.head(name)) ?? '');
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
    expect((await project.git.branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
    expect(await project.git.refsBelow('refs/portico/rescue')).toMatchObject([
      { name: `refs/portico/rescue/topic/${head}` },
    ]);
    expect((await project.ask('POST', '/branches', { name: 'again', from: head })).status).toBe(201);
  });
});

describe('an upstream that has lost all its branches', () => {
  it.each([[{}], [{ branch: 'main' }]])('deletes none here, also when one was pushed again: %j', async (first) => {
    const { host, project } = await mirrorOf(app);
    const sync = (body: object) => project.ask('POST', '/repository/sync', body);
    const names = async ({ git }: { git: typeof project.git }) => (await git.branches()).map(({ name }) => name);
    await project.ask('POST', '/branches', { name: 'topic' });
    await project.ask('PUT', '/collections/posts/one?branch=topic', { frontmatter: { tags: ['b'] } });
    const head = await host.repository.head('topic');
    for (const name of ['main', 'topic']) git(host.directory, ['update-ref', '-d', `refs/heads/${name}`]);
    await sync(first);
    const { body } = await project.ask('GET', '/repository');
    expect(body.diverged).toContainEqual(
      expect.objectContaining({ branch: 'topic', message: expect.stringContaining('lost all its branches') }),
    );
    expect((await sync({ branch: 'main' })).body.state).toBe('in_sync');
    expect(await names({ git: host.repository })).toEqual(['refs/heads/main']);
    expectRefusal(await sync({}), 409, 'upstream_diverged', /topic: people must/);
    expect(await names(project)).toEqual(['refs/heads/main', 'refs/heads/topic']);
    expect((await sync({ branch: 'topic' })).body.state).toBe('in_sync');
    expect((await sync({})).body.state).toBe('in_sync');
    expect(await host.repository.head('topic')).toBe(head);
  });
});

describe('a branch made anew under the name of a deleted one', () => {
  const secret = '/collections/posts/secret?branch=topic';

  /** `topic` was pushed with a post, deleted here, and made anew with another one, all of which the upstream does not know yet. */
  async function madeAnew() {
    const mirror = await mirrorOf(app, { push: 'manual' });
    const { host, project } = mirror;
    const post = (slug: string) =>
      project.ask('POST', '/collections/posts', { slug, branch: 'topic', frontmatter: { title: slug } });
    await project.ask('POST', '/branches', { name: 'topic' });
    const { body } = await post('secret');
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
    expect(await host.repository.head('topic')).toBe(body.commit.sha);
    expect((await project.ask('DELETE', '/branches/topic?force=true')).status).toBe(204);
    await project.ask('POST', '/branches', { name: 'topic' });
    const made = (await post('new')).body.commit.sha as string;
    return { ...mirror, old: body.commit.sha as string, made };
  }

  it('replaces that one on the upstream, and takes nothing of it', async () => {
    const { host, project, old, made } = await madeAnew();
    expect((await project.ask('POST', '/repository/sync', {})).body.state).toBe('in_sync');
    expect([await project.git.head('topic'), await host.repository.head('topic')]).toEqual([made, made]);
    expect((await project.ask('GET', secret)).status).toBe(404);
    expect(await project.git.refsBelow('refs/portico/rescue/topic')).toMatchObject([{ oid: old }]);
    fsck(host.directory);
  });

  it('does so when it holds nothing of its own yet', async () => {
    const { host, project } = await madeAnew();
    await project.ask('DELETE', '/branches/topic?force=true');
    await project.ask('POST', '/branches', { name: 'topic' });
    await project.ask('POST', '/repository/sync', {});
    const main = await project.git.head('main');
    expect([await project.git.head('topic'), await host.repository.head('topic')]).toEqual([main, main]);
  });

  it('waits for a person when that one went on there', async () => {
    const { host, project, made } = await madeAnew();
    const { commit } = await save(host.repository, titled('Theirs'), { branch: 'topic' });
    expectRefusal(await project.ask('POST', '/repository/sync', {}), 409, 'upstream_diverged', /people must/);
    const { body } = await project.ask('GET', '/repository');
    expect(body.diverged).toMatchObject([{ branch: 'topic', message: expect.stringContaining('made anew') }]);
    expect([await project.git.head('topic'), await host.repository.head('topic')]).toEqual([made, commit?.sha]);
    expect((await project.ask('POST', '/repository/sync', { branch: 'topic' })).body.state).toBe('in_sync');
    expect((await project.ask('GET', secret)).status).toBe(200);
  });

  it('waits when it was protected since', async () => {
    const { host, project, old, made } = await madeAnew();
    await project.ask('PATCH', '/repository', { protected_branches: ['topic'] });
    expectRefusal(await project.ask('POST', '/repository/sync', {}), 409, 'upstream_diverged', /people must/);
    expect([await project.git.head('topic'), await host.repository.head('topic')]).toEqual([made, old]);
  });

  it('stays when that one was deleted there, too', async () => {
    const { host, project, old } = await madeAnew();
    await project.ask('DELETE', '/branches/topic?force=true');
    await project.ask('POST', '/branches', { name: 'topic' });
    await host.repository.deleteBranch('topic', old);
    await project.ask('POST', '/repository/sync', {});
    const main = await project.git.head('main');
    expect([await project.git.head('topic'), await host.repository.head('topic')]).toEqual([main, main]);
  });
});
