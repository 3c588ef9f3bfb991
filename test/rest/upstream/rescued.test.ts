import { describe, expect, it } from 'vitest';
import { shared } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { commitFiles, setRef } from '../../support/git-history.ts';
import { git, save } from '../../support/git-store.ts';
import { mirrorOf, startMirrorApp, type TestProject } from '../../support/mirror.ts';
import { expectRefusal } from '../../support/refusal.ts';

const app = shared(startMirrorApp);

const onePath = 'content/posts/one.md';
const titled = (title: string) => ({ [onePath]: post({ title, tags: ['a'] }, 'First\n\nSecond\n') });
const rescuedIn = async (project: TestProject) => (await project.ask('GET', '/repository')).body.rescued;
const keptFor = (branch: string, sha: string) => ({ branch, sha, ref: `refs/portico/rescue/${branch}/${sha}` });

/** A mirror whose upstream has rewritten main; `old` is what main was. */
async function rewritten() {
  const { host, project } = await mirrorOf(app);
  const old = (await project.git.head('main')) ?? '';
  const sha = commitFiles(host.directory, null, titled('Rewritten'));
  setRef(host.directory, 'refs/heads/main', sha);
  const synced = await project.ask('POST', '/repository/sync', {});
  return { host, project, old, synced };
}

describe('an upstream that was rewritten', () => {
  it('is followed, which the branch says until it moves again', async () => {
    const { host, project, old, synced } = await rewritten();
    expect(synced).toMatchObject({ status: 200, body: { state: 'in_sync', message: expect.stringContaining(old) } });
    expect((await project.ask('POST', '/repository/sync', {})).body.message).toContain('rewrote');
    expect((await project.ask('GET', '/branches')).body[0].sync.message).toContain('rewrote');
    await save(host.repository, titled('Next'));
    expect((await project.ask('POST', '/repository/sync', {})).body).not.toHaveProperty('message');
  });

  it('says so only until a commit is made here, too', async () => {
    const { project } = await rewritten();
    const saved = await project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Ours' } });
    expect(saved.body.sync).toMatchObject({ state: 'in_sync' });
    expect(saved.body.sync).not.toHaveProperty('message');
  });

  it('leaves what it dropped to those who manage the site', async () => {
    const { project, old } = await rewritten();
    expect(await rescuedIn(project)).toEqual([keptFor('main', old)]);
    expectRefusal(await project.ask('GET', `/commits?ref=${old}`), 404, 'not_found', /^ref: /);
    const token = await app.makeToken(['browse_studio', 'edit_studio']);
    const from = { name: 'again', from: old };
    const refused = await app.ask('POST', `${project.base}/branches`, { token, body: from });
    expectRefusal(refused, 403, 'forbidden', /manage_studio/);
    expect(await project.ask('POST', '/branches', from)).toMatchObject({ status: 201, body: { commit: old } });
    expect((await project.ask('GET', '/collections/posts/one?branch=again')).body.title).toBe('One');
    expectRefusal(
      await project.ask('POST', '/branches', { name: 'x', from: '1'.repeat(40) }),
      404,
      'not_found',
      /^from: /,
    );
  });
});

describe('the rescued commits of a branch', () => {
  it('are one for each head, the newest first, and go when the branch has them again', async () => {
    const { host, project } = await mirrorOf(app);
    await save(host.repository, titled('Theirs'));
    const heads: string[] = [];
    for (const tag of ['b', 'c']) {
      const changed = { frontmatter: { title: 'Ours', tags: [tag] } };
      heads.unshift((await project.ask('PUT', '/collections/posts/one', changed)).body.commit.sha);
      await project.ask('POST', '/repository/sync', {});
      await project.ask('POST', '/repository/sync', {});
    }
    const kept = await rescuedIn(project);
    expect(kept.map(({ sha }: { sha: string }) => sha).sort()).toEqual(heads.toSorted());
    expect(kept).toContainEqual(keptFor('main', heads[0] ?? ''));
    const left = await project.ask('POST', '/repository/sync', { branch: 'main' });
    const resolutions = left.body.details.conflicts.map(({ path, stages }: { path: string; stages: object }) => ({
      path,
      stages,
      take: 'current',
    }));
    const done = await project.ask('POST', '/repository/sync', { branch: 'main', resolutions });
    expect(done).toMatchObject({ status: 200, body: { state: 'in_sync' } });
    expect(await rescuedIn(project)).toEqual([]);
    expect(await project.git.refsBelow('refs/portico/rescue')).toEqual([]);
  });

  it('are shown up to 50, the newest first', async () => {
    const { project } = await mirrorOf(app);
    const directory = app.directory(project.record.uuid);
    const shas: string[] = [];
    const tree = git(directory, ['rev-parse', 'main^{tree}']);
    for (let at = 0; at < 51; at += 1) {
      const person = `Stock <stock@example.org> ${1_700_000_000 + at} +0000`;
      const text = `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nby hand\n`;
      const sha = git(directory, ['hash-object', '-t', 'commit', '-w', '--stdin'], text);
      shas.unshift(sha);
      await project.git.rescue('main', sha);
    }
    expect((await rescuedIn(project)).map(({ sha }: { sha: string }) => sha)).toEqual(shas.slice(0, 50));
    const merged = (await project.git.head('main')) ?? '';
    for (const name of ['merged', 'merged-too']) await project.git.rescue(name, merged);
    expect((await rescuedIn(project)).map(({ sha }: { sha: string }) => sha)).toEqual(shas.slice(0, 50));
  });
});
