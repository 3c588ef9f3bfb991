import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { mergeabilityOf, perRequest } from '../../src/domain/studio/merge/mergeability.ts';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { runRetention } from '../../src/jobs/upkeep.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { commitTo, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { client } from '../support/git-client.ts';
import { git, temporaryDirectory } from '../support/git-store.ts';

const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };
const app = shared(startTestApp);
let project: string;
let studio: string;
let made = 0;

beforeEach(async () => {
  project = `site-${++made}`;
  studio = `${acme}/projects/${project}/studio`;
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seedPosts(app, project);
});

const commit = (name: string, files: Record<string, string | null>) => commitTo(app, name, files, project);
const branch = (name: string) => app.ask('POST', `${studio}/branches`, { body: { name } });
const list = async () => (await app.ask('GET', `${studio}/pulls?per_page=100`)).body as { mergeable: boolean | null }[];
const answers = async () => (await list()).map(({ mergeable }) => mergeable);
const detail = async (number: number) => (await app.ask('GET', `${studio}/pulls/${number}`)).body;
const sql = (text: string, values: unknown[] = []) => app.services.orm.em.fork().execute(text, values);

/** A branch with one change to post `a`, and a pull request of it. */
async function propose(name: string, change: object, body?: string): Promise<number> {
  await branch(name);
  await commit(name, { [postPath('a')]: post({ ...fields, ...change }, body) });
  return (await app.ask('POST', `${studio}/pulls`, { body: { title: name, head: name } })).body.number;
}

/** A commit on top of main that no branch holds. */
async function nextMain(files: Record<string, string>): Promise<string> {
  const name = `aside-${++made}`;
  await branch(name);
  return commit(name, files);
}

/** Moves main as another program would: without a notification. */
async function moveMain(sha: string): Promise<void> {
  git(app.directory((await app.repository(project)).id), ['update-ref', 'refs/heads/main', sha]);
}

/** In the background. */
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 20 });

const pullHead = async (number: number) =>
  (await (await app.repository(project)).refsBelow('refs/pull')).find(({ name }) => name === `refs/pull/${number}/head`)
    ?.oid;

/** Merges of a commit take longer than anyone waits for them. @returns the commits of each try */
function stick(head: string): string[][] {
  const tried: string[][] = [];
  const { mergeability } = GitRepository.prototype;
  const spy = vi.spyOn(GitRepository.prototype, 'mergeability').mockImplementation(async function (
    this: GitRepository,
    pairs,
    until,
  ) {
    const heads = pairs.map(({ incoming }) => incoming);
    tried.push(heads);
    const before = heads.includes(head) ? pairs.slice(0, heads.indexOf(head)) : pairs;
    const found = await mergeability.call(this, before, until);
    return pairs.map((_, at) => found[at]);
  });
  onTestFinished(() => spy.mockRestore());
  return tried;
}

describe('mergeable', () => {
  it('is true of a conflict of lines that the fields do not have, in the list as in the details', async () => {
    const number = await propose('topic', { title: 'Theirs' });
    await commit('main', { [postPath('a')]: post({ ...fields, description: 'Ours' }) });
    expect(await answers()).toEqual([true]);
    expect(await detail(number)).toMatchObject({ mergeable: true, mergeable_state: 'behind', conflicts: [] });
    await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    expect(await answers()).toEqual([false]);
    const conflicts = [expect.objectContaining({ path: postPath('a') })];
    expect(await detail(number)).toMatchObject({ mergeable: false, mergeable_state: 'dirty', conflicts });
  });

  it('is false where git would follow media into code that it takes for the same file renamed', async () => {
    const text = (first: string) => `${first}()\n${'same()\n'.repeat(20)}`;
    await commit('main', { 'public/likened.txt': text('one') });
    await branch('topic');
    await commit('topic', { 'public/likened.txt': text('other') });
    await commit('main', { 'public/likened.txt': null, 'src/likened.js': text('one') });
    const { number } = (await app.ask('POST', `${studio}/pulls`, { body: { title: 'Topic', head: 'topic' } })).body;
    expect(await answers()).toEqual([false]);
    expect(await detail(number)).toMatchObject({ mergeable: false, mergeable_state: 'dirty' });
    expect((await app.ask('POST', `${studio}/pulls/${number}/merge`, { body: {} })).status).toBe(409);
    const compared = await app.ask('GET', `${studio}/compare?base=main&head=topic`);
    expect(compared.body.mergeable).toBe(false);
  });

  it('is what the database stores for the two commits by the current rules, and nothing stored by others', async () => {
    await propose('topic', { title: 'Theirs' });
    const claim = (main: string, rules: string) =>
      sql(
        `insert into mergeability select project_id, ?, incoming_sha, ${rules}, false, tested_at from mergeability
        join project on project.id = project_id where machine_name = ?`,
        [main, project],
      );
    const [stale, current] = [await nextMain({ 'src/a.css': 'a' }), await nextMain({ 'src/b.css': 'b' })];
    await claim(stale, "'0:'");
    await moveMain(stale);
    expect(await answers()).toEqual([true]);
    await sql('delete from mergeability where current_sha = ?', [stale]);
    await claim(current, 'rules');
    await moveMain(current);
    // They merge; what says that they do not is the row.
    expect(await answers()).toEqual([false]);
  });

  it('is null where too much is to be tried at once, and known soon after', async () => {
    for (let at = 0; at < 7; at += 1) await propose(`topic-${at}`, { title: `Theirs ${at}` });
    await moveMain(await nextMain({ [postPath('a')]: post({ ...fields, title: 'Ours' }) }));
    const first = await answers();
    expect(first.filter((answer) => answer === false)).toHaveLength(5);
    expect(first.filter((answer) => answer === null)).toHaveLength(2);
    await soon(async () => expect(await answers()).toEqual(Array(7).fill(false)));
  });

  it('is null of a merge that takes git too long, and known of the others at once from the next save on', async () => {
    await propose('quick', { title: 'Theirs' });
    const number = await propose('slow', { title: 'Theirs as well' });
    const { sha } = (await detail(number)).head;
    const tried = stick(sha);
    await moveMain(await nextMain({ 'src/a.css': 'a' }));
    await soon(async () => expect(await answers()).toEqual([null, true]));
    await soon(async () => expect(tried).toContainEqual([sha]));
    await moveMain(await nextMain({ 'src/b.css': 'b' }));
    expect(await answers()).toEqual([null, true]);
    expect(await detail(number)).toMatchObject({ mergeable: null, mergeable_state: 'unknown', conflicts: [] });
    const compared = await app.ask('GET', `${studio}/compare?base=main&head=slow`);
    expect(compared).toMatchObject({ status: 200, body: { mergeable: null } });
  });

  it('is not tried again where the merge alone has taken too long', async () => {
    const number = await propose('slow', { title: 'Theirs' });
    const { sha } = (await detail(number)).head;
    const tried = stick(sha);
    const [row] = (await sql('select id from project where machine_name = ?', [project])) as { id: number }[];
    const git = await app.repository(project);
    const { services } = app;
    const context = {
      em: services.orm.em.fork(),
      git,
      project: { ...row, settings: {} },
      services,
      studio: services.studio,
    };
    const pair = { current: await nextMain({ 'src/a.css': 'a' }), incoming: sha };
    const ask = (alone: boolean) => mergeabilityOf(context as never, [pair], { ...perRequest, alone });
    const isTried = () => tried.splice(0).length > 0;
    expect([await ask(false), isTried()]).toEqual([[null], true]);
    // Readers leave it to the background, which tries it alone and gives it up.
    expect([await ask(false), isTried()]).toEqual([[null], false]);
    expect([await ask(true), isTried()]).toEqual([[null], true]);
    expect([await ask(true), isTried()]).toEqual([[null], false]);
  });

  it('is found out again in the background when a branch moves', async () => {
    await propose('topic', { title: 'Theirs' });
    const main = await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    // A project of another test may have the same commit, made in the same second.
    const known = () =>
      sql(
        `select mergeable from mergeability join project on project.id = project_id
        where current_sha = ? and machine_name = ?`,
        [main, project],
      );
    const open = (await app.ask('GET', `${studio}/pulls?state=open`)).body.length;
    await soon(async () => expect(await known()).toEqual(Array(open).fill({ mergeable: false })));
  });

  it('is forgotten after a month without use, and with its project', async () => {
    const count = async () =>
      (
        (await sql('select 1 from mergeability join project on id = project_id where machine_name = ?', [
          project,
        ])) as []
      ).length;
    await propose('topic', { title: 'Theirs' });
    const age = (days: number) => sql("update mergeability set tested_at = now() - ? * interval '1 day'", [days]);
    await age(29);
    await runRetention(app.services, 365);
    expect(await count()).toBe(1);
    await age(31);
    await runRetention(app.services, 365);
    expect(await count()).toBe(0);
    expect(await answers()).toEqual([true]);
  });
});

describe('the head of an open pull request', () => {
  it('follows its branch, however that is moved, and outlives it', async () => {
    const number = await propose('topic', { title: 'Theirs' });
    const saved = await commit('topic', { [postPath('b')]: null });
    await soon(async () => expect(await pullHead(number)).toBe(saved));
    const copy = temporaryDirectory();
    const remote = `${app.url.replace('://', `://git:${app.token}@`)}/git/acme/${project}.git`;
    await client(copy, 'clone', '-q', '--branch', 'topic', remote, '.');
    await client(copy, 'commit', '-q', '--allow-empty', '-m', 'Pushed');
    await client(copy, 'push', '-q', 'origin', 'topic');
    const pushed = git(copy, ['rev-parse', 'HEAD']);
    await soon(async () => expect(await pullHead(number)).toBe(pushed));
    expect(await detail(number)).toMatchObject({ head: { sha: pushed }, mergeable: true });
    // As the upstream's branch is followed.
    await (await app.repository(project)).resetBranch('topic', { from: pushed, to: saved });
    await soon(async () => expect(await pullHead(number)).toBe(saved));
    await client(copy, 'push', '-q', 'origin', ':topic');
    const closed = { state: 'closed', mergeable: null, head: { sha: saved } };
    await soon(async () => expect(await detail(number)).toMatchObject(closed));
    expect(await pullHead(number)).toBe(saved);
  });
});
